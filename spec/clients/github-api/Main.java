// GitHub's API by github-api.
import java.util.List;
import org.kohsuke.github.GHCommitState;
import org.kohsuke.github.GHCommitStatus;
import org.kohsuke.github.GHRef;
import org.kohsuke.github.GHRepository;
import org.kohsuke.github.GHTag;
import org.kohsuke.github.GitHub;
import org.kohsuke.github.GitHubBuilder;
import org.kohsuke.github.HttpException;

class Main {
    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("STATUS_URL");
        String token = System.getenv("STATUS_TOKEN");
        String sha = System.getenv("STATUS_SHA");
        String name = System.getenv("STATUS_REPOSITORY");
        String owner = name.split("/")[0];
        GitHub client = new GitHubBuilder().withEndpoint(url + "/api/v3").withOAuthToken(token).build();
        GHRepository repository = client.getRepository(name);

        Calls.call("check the address", client::checkApiUrlValidity);
        Calls.call("get repository", () -> Calls.expect(client.getRepository(name).getFullName(), name));
        Calls.call("get commit", () -> Calls.expect(repository.getCommit("main").getSHA1(), sha));
        Calls.call("report pending", () -> report(repository, sha, GHCommitState.PENDING, "build"));
        Calls.call("report success", () -> report(repository, sha, GHCommitState.SUCCESS, "build"));
        Calls.call("report others", () -> {
            report(repository, sha, GHCommitState.SUCCESS, "lint");
            report(repository, sha, GHCommitState.SUCCESS, "test");
        });
        Calls.call("last status", () -> {
            GHCommitStatus last = repository.getLastCommitStatus(sha);
            Calls.expect(List.of(last.getContext(), last.getState()), List.of("test", GHCommitState.SUCCESS));
        });
        Calls.call("list statuses, by pages", () -> Calls.expect(
                repository.listCommitStatuses(sha).withPageSize(2).toList().stream().map(GHCommitStatus::getContext)
                        .sorted().toList(),
                List.of("build", "lint", "test")));
        Calls.call("list check runs", () -> Calls.expect(repository.getCheckRuns(sha).toList(), List.of()));
        Calls.call("list branches", () -> Calls.expect(
                repository.getBranches().keySet().stream().sorted().toList(), List.of("feature/one", "main")));
        Calls.call("get branch", () -> Calls.expect(repository.getBranch("feature/one").getSHA1(), sha));
        Calls.call("get ref", () -> Calls.expect(repository.getRef("heads/feature/one").getObject().getSha(), sha));
        Calls.call("list refs", () -> Calls.expect(
                repository.listRefs("heads").toList().stream().map(GHRef::getRef).toList(),
                List.of("refs/heads/feature/one", "refs/heads/main")));
        Calls.call("list all refs", () -> Calls.expect(repository.getRefs().length, 3));
        Calls.call("list tags", () -> Calls.expect(
                repository.listTags().toList().stream().map(GHTag::getName).toList(), List.of("v1.0")));
        Calls.call("get user", () -> Calls.expect(client.getMyself().getLogin(), owner));
        Calls.call("get another user", () -> Calls.expect(client.getUser("bob").getLogin(), "bob"));
        Calls.call("get rate limit", client::getRateLimit);
        Calls.call("report on no commit", () -> {
            try {
                report(repository, "e".repeat(40), GHCommitState.SUCCESS, "build");
            } catch (HttpException refusal) {
                Calls.expect(refusal.getResponseCode(), 422);
                return;
            }
            throw new IllegalStateException("it is no refusal");
        });
        Calls.end();
    }

    private static void report(GHRepository repository, String sha, GHCommitState state, String context)
            throws Exception {
        GHCommitStatus saved = repository.createCommitStatus(sha, state, "https://ci.example/1", "it runs", context);
        Calls.expect(List.of(saved.getState(), saved.getContext()), List.of(state, context));
        Calls.expect(saved.getCreator().getLogin(), repository.getOwnerName());
    }
}
