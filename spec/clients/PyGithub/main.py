"""GitHub's API by PyGithub."""

import os

from github import Auth, Github, GithubException

from calls import call, end, expect


def main():
    url, token = os.environ["STATUS_URL"], os.environ["STATUS_TOKEN"]
    sha, name = os.environ["STATUS_SHA"], os.environ["STATUS_REPOSITORY"]
    owner = name.split("/")[0]
    client = Github(base_url=url + "/api/v3", auth=Auth.Token(token))
    client.per_page = 2
    repository = client.get_repo(name)
    commit = repository.get_commit("main")

    def report(state, context):
        saved = commit.create_status(state, target_url="https://ci.example/1", context=context)
        expect((saved.state, saved.context, saved.creator.login), (state, context, owner))
        expect((saved.id > 0, saved.updated_at >= saved.created_at), (True, True))

    def report_others():
        report("success", "lint")
        report("success", "test")

    def combined():
        status = repository.get_commit(sha).get_combined_status()
        expect((status.state, status.total_count, status.sha), ("success", 3, sha))
        expect(status.repository.full_name, name)

    def refused():
        try:
            repository.get_commit("e" * 40)
        except GithubException as refusal:
            expect(refusal.status, 422)
            return
        raise AssertionError("it is no refusal")

    call("get repository", lambda: expect(repository.full_name, name))
    call("get commit", lambda: expect(commit.sha, sha))
    call("get commit of git", lambda: expect(repository.get_git_commit(sha).tree.sha, commit.commit.tree.sha))
    call("report pending", lambda: report("pending", "build"))
    call("report success", lambda: report("success", "build"))
    call("report others", report_others)
    call("combined status", combined)
    call(
        "list statuses, by pages",
        lambda: expect(sorted(status.context for status in commit.get_statuses()), ["build", "lint", "test"]),
    )
    call("list check runs", lambda: expect(list(commit.get_check_runs()), []))
    call(
        "list branches, by pages",
        lambda: expect([branch.name for branch in repository.get_branches()], ["feature/one", "main"]),
    )
    call("get branch", lambda: expect(repository.get_branch("feature/one").commit.sha, sha))
    call("get ref", lambda: expect(repository.get_git_ref("heads/feature/one").object.sha, sha))
    call("list refs", lambda: expect(len(list(repository.get_git_refs())), 3))
    call("list matching refs", lambda: expect(len(list(repository.get_git_matching_refs("heads/feature"))), 1))
    call("list tags", lambda: expect([tag.name for tag in repository.get_tags()], ["v1.0"]))
    call("get user", lambda: expect(client.get_user().login, owner))
    call("get another user", lambda: expect(client.get_user("bob").login, "bob"))
    call("get no commit", refused)
    end()


main()
