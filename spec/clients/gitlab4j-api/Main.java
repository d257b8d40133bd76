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
    private static boolean failed;

    private interface Call {
        void make() throws Exception;
    }

    /** Prints what came of a call. */
    private static void call(String name, Call call) {
        try {
            call.make();
            System.out.println("ok " + name);
        } catch (Exception error) {
            failed = true;
            System.out.println("FAIL " + name + ": " + error.toString().replace('\n', ' '));
        }
    }

    private static void expect(Object got, Object wanted) {
        if (!wanted.equals(got)) throw new IllegalStateException("it is " + got + ", not " + wanted);
    }

    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("STATUS_URL");
        String token = System.getenv("STATUS_TOKEN");
        String sha = System.getenv("STATUS_SHA");
        String name = System.getenv("STATUS_REPOSITORY");
        String owner = name.split("/")[0];
        GitLabApi client = new GitLabApi(url, token);

        call("get project", () -> expect(client.getProjectApi().getProject(name).getPathWithNamespace(), name));
        call("get project by number", () -> {
            Long number = client.getProjectApi().getProject(name).getId();
            expect(client.getProjectApi().getProject(number).getPathWithNamespace(), name);
        });
        call("get commit", () -> expect(client.getCommitsApi().getCommit(name, "main").getId(), sha));
        call("report pending", () -> report(client, name, sha, CommitBuildState.PENDING, "build"));
        call("report success", () -> report(client, name, sha, CommitBuildState.SUCCESS, "build"));
        call("report others", () -> {
            report(client, name, sha, CommitBuildState.SUCCESS, "lint");
            report(client, name, sha, CommitBuildState.SUCCESS, "test");
        });
        call("status of the commit", () -> {
            Commit commit = client.getCommitsApi().getCommit(name, sha);
            expect(
                    List.of(commit.getStatus(), commit.getLastPipeline().getStatus().toString()),
                    List.of("success", "success"));
        });
        call("list statuses, by pages", () -> expect(
                client.getCommitsApi().getCommitStatuses(name, sha, new CommitStatusFilter(), 2).all().stream()
                        .map(CommitStatus::getName).sorted().toList(),
                List.of("build", "lint", "test")));
        call("list branches, by pages", () -> expect(
                client.getRepositoryApi().getBranches(name, 1).all().stream().map(Branch::getName).toList(),
                List.of("feature/one", "main")));
        call("get branch", () -> expect(
                client.getRepositoryApi().getBranch(name, "feature/one").getCommit().getId(), sha));
        call("list tags", () -> expect(
                client.getTagsApi().getTags(name).stream().map(Tag::getName).toList(), List.of("v1.0")));
        call("get user", () -> expect(client.getUserApi().getCurrentUser().getUsername(), owner));
        call("get version", () -> expect(client.getVersion().getVersion().isEmpty(), false));
        call("report on no commit", () -> {
            try {
                report(client, name, "e".repeat(40), CommitBuildState.SUCCESS, "build");
            } catch (GitLabApiException refusal) {
                expect(refusal.getHttpStatus(), 404);
                return;
            }
            throw new IllegalStateException("it is no refusal");
        });
        System.exit(failed ? 1 : 0);
    }

    private static void report(GitLabApi client, String name, String sha, CommitBuildState state, String context)
            throws GitLabApiException {
        CommitStatus status = new CommitStatus().withName(context).withTargetUrl("https://ci.example/1");
        CommitStatus saved = client.getCommitsApi().addCommitStatus(name, sha, state, status);
        expect(List.of(saved.getStatus(), saved.getName()), List.of(state.toString(), context));
        expect(saved.getAuthor().getUsername(), name.split("/")[0]);
    }
}
