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
        GitHub client = new GitHubBuilder().withEndpoint(url + "/api/v3").withOAuthToken(token).build();
        GHRepository repository = client.getRepository(name);

        call("check the address", client::checkApiUrlValidity);
        call("get repository", () -> expect(client.getRepository(name).getFullName(), name));
        call("get commit", () -> expect(repository.getCommit("main").getSHA1(), sha));
        call("report pending", () -> report(repository, sha, GHCommitState.PENDING, "build"));
        call("report success", () -> report(repository, sha, GHCommitState.SUCCESS, "build"));
        call("report others", () -> {
            report(repository, sha, GHCommitState.SUCCESS, "lint");
            report(repository, sha, GHCommitState.SUCCESS, "test");
        });
        call("last status", () -> {
            GHCommitStatus last = repository.getLastCommitStatus(sha);
            expect(List.of(last.getContext(), last.getState()), List.of("test", GHCommitState.SUCCESS));
        });
        call("list statuses, by pages", () -> expect(
                repository.listCommitStatuses(sha).withPageSize(2).toList().stream().map(GHCommitStatus::getContext)
                        .sorted().toList(),
                List.of("build", "lint", "test")));
        call("list check runs", () -> expect(repository.getCheckRuns(sha).toList(), List.of()));
        call("list branches", () -> expect(
                repository.getBranches().keySet().stream().sorted().toList(), List.of("feature/one", "main")));
        call("get branch", () -> expect(repository.getBranch("feature/one").getSHA1(), sha));
        call("get ref", () -> expect(repository.getRef("heads/feature/one").getObject().getSha(), sha));
        call("list refs", () -> expect(
                repository.listRefs("heads").toList().stream().map(GHRef::getRef).toList(),
                List.of("refs/heads/feature/one", "refs/heads/main")));
        call("list all refs", () -> expect(repository.getRefs().length, 3));
        call("list tags", () -> expect(
                repository.listTags().toList().stream().map(GHTag::getName).toList(), List.of("v1.0")));
        call("get user", () -> expect(client.getMyself().getLogin(), owner));
        call("get another user", () -> expect(client.getUser("bob").getLogin(), "bob"));
        call("get rate limit", client::getRateLimit);
        call("report on no commit", () -> {
            try {
                report(repository, "e".repeat(40), GHCommitState.SUCCESS, "build");
            } catch (HttpException refusal) {
                expect(refusal.getResponseCode(), 422);
                return;
            }
            throw new IllegalStateException("it is no refusal");
        });
        System.exit(failed ? 1 : 0);
    }

    private static void report(GHRepository repository, String sha, GHCommitState state, String context)
            throws Exception {
        GHCommitStatus saved = repository.createCommitStatus(sha, state, "https://ci.example/1", "it runs", context);
        expect(List.of(saved.getState(), saved.getContext()), List.of(state, context));
        expect(saved.getCreator().getLogin(), repository.getOwnerName());
    }
}
