"""GitLab's API by python-gitlab."""

import os

import gitlab

from calls import call, end, expect


def main():
    url, token = os.environ["STATUS_URL"], os.environ["STATUS_TOKEN"]
    sha, name = os.environ["STATUS_SHA"], os.environ["STATUS_REPOSITORY"]
    owner = name.split("/")[0]
    client = gitlab.Gitlab(url, private_token=token)
    project = client.projects.get(name)
    commit = project.commits.get("main")

    def report(state, context, on=commit):
        saved = on.statuses.create({"state": state, "name": context, "target_url": "https://ci.example/1"})
        expect((saved.status, saved.name, saved.author["username"]), (state, context, owner))

    def report_others():
        report("success", "lint")
        report("success", "test")

    def status_of_commit():
        found = project.commits.get(sha)
        expect((found.status, found.last_pipeline["status"]), ("success", "success"))

    def user():
        client.auth()
        expect(client.user.username, owner)

    def refused():
        try:
            report("success", "build", project.manager.get(name, lazy=True).commits.get("e" * 40, lazy=True))
        except gitlab.GitlabCreateError as refusal:
            expect(refusal.response_code, 404)
            return
        raise AssertionError("it is no refusal")

    call("get project", lambda: expect(project.path_with_namespace, name))
    call("get project by number", lambda: expect(client.projects.get(project.id).path_with_namespace, name))
    call("get commit", lambda: expect(commit.id, sha))
    call("report pending", lambda: report("pending", "build"))
    call("report success", lambda: report("success", "build"))
    call("report others", report_others)
    call("status of the commit", status_of_commit)
    call(
        "list statuses, by pages",
        lambda: expect(
            sorted(status.name for status in commit.statuses.list(iterator=True, per_page=2)),
            ["build", "lint", "test"],
        ),
    )
    call(
        "list branches, by pages",
        lambda: expect(
            [branch.name for branch in project.branches.list(iterator=True, per_page=1)], ["feature/one", "main"]
        ),
    )
    call("get branch", lambda: expect(project.branches.get("feature/one").commit["id"], sha))
    call("list tags", lambda: expect([tag.name for tag in project.tags.list(get_all=True)], ["v1.0"]))
    call("get user", user)
    call("get version", lambda: expect(client.version()[0] != "unknown", True))
    call("report on no commit", refused)
    end()


main()
