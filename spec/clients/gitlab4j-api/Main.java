// GitLab's API by gitlab4j-api.
import java.util.List;
import org.gitlab4j.api.GitLabApi;
import org.gitlab4j.api.GitLabApiException;
import org.gitlab4j.api.models.Branch;
import org.gitlab4j.api.models.Commit;
import org.gitlab4j.api.models.CommitStatus;
import org.gitlab4j.api.models.CommitStatusFilter;
import org.gitlab4j.api.models.Tag;
import org.gitlab4j.models.Constants.CommitBuildState;

class Main {
    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("STATUS_URL");
        String token = System.getenv("STATUS_TOKEN");
        String sha = System.getenv("STATUS_SHA");
        String name = System.getenv("STATUS_REPOSITORY");
        String owner = name.split("/")[0];
        GitLabApi client = new GitLabApi(url, token);

        Calls.call("get project", () -> Calls.expect(client.getProjectApi().getProject(name).getPathWithNamespace(), name));
        Calls.call("get project by number", () -> {
            Long number = client.getProjectApi().getProject(name).getId();
            Calls.expect(client.getProjectApi().getProject(number).getPathWithNamespace(), name);
        });
        Calls.call("get commit", () -> Calls.expect(client.getCommitsApi().getCommit(name, "main").getId(), sha));
        Calls.call("report pending", () -> report(client, name, sha, CommitBuildState.PENDING, "build"));
        Calls.call("report success", () -> report(client, name, sha, CommitBuildState.SUCCESS, "build"));
        Calls.call("report others", () -> {
            report(client, name, sha, CommitBuildState.SUCCESS, "lint");
            report(client, name, sha, CommitBuildState.SUCCESS, "test");
        });
        Calls.call("status of the commit", () -> {
            Commit commit = client.getCommitsApi().getCommit(name, sha);
            Calls.expect(
                    List.of(commit.getStatus(), commit.getLastPipeline().getStatus().toString()),
                    List.of("success", "success"));
        });
        Calls.call("list statuses, by pages", () -> Calls.expect(
                client.getCommitsApi().getCommitStatuses(name, sha, new CommitStatusFilter(), 2).all().stream()
                        .map(CommitStatus::getName).sorted().toList(),
                List.of("build", "lint", "test")));
        Calls.call("list branches, by pages", () -> Calls.expect(
                client.getRepositoryApi().getBranches(name, 1).all().stream().map(Branch::getName).toList(),
                List.of("feature/one", "main")));
        Calls.call("get branch", () -> Calls.expect(
                client.getRepositoryApi().getBranch(name, "feature/one").getCommit().getId(), sha));
        Calls.call("list tags", () -> Calls.expect(
                client.getTagsApi().getTags(name).stream().map(Tag::getName).toList(), List.of("v1.0")));
        Calls.call("get user", () -> Calls.expect(client.getUserApi().getCurrentUser().getUsername(), owner));
        Calls.call("get version", () -> Calls.expect(client.getVersion().getVersion().isEmpty(), false));
        Calls.call("report on no commit", () -> {
            try {
                report(client, name, "e".repeat(40), CommitBuildState.SUCCESS, "build");
            } catch (GitLabApiException refusal) {
                Calls.expect(refusal.getHttpStatus(), 404);
                return;
            }
            throw new IllegalStateException("it is no refusal");
        });
        Calls.end();
    }

    private static void report(GitLabApi client, String name, String sha, CommitBuildState state, String context)
            throws GitLabApiException {
        CommitStatus status = new CommitStatus().withName(context).withTargetUrl("https://ci.example/1");
        CommitStatus saved = client.getCommitsApi().addCommitStatus(name, sha, state, status);
        Calls.expect(List.of(saved.getStatus(), saved.getName()), List.of(state.toString(), context));
        Calls.expect(saved.getAuthor().getUsername(), name.split("/")[0]);
    }
}
