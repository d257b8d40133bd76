// GitLab's API by the crate gitlab. It has the requests; what the answers are is the program's to say.
#[path = "../../calls/calls.rs"]
mod calls;

use calls::{expect, variable, Calls, Outcome};
use gitlab::api::projects::repository::branches::{Branch, Branches};
use gitlab::api::projects::repository::commits::{Commit, CommitStatusState, CommitStatuses, CreateCommitStatus};
use gitlab::api::projects::repository::tags::Tags;
use gitlab::api::{paged, projects, users, ApiError, Pagination, Query};
use gitlab::Gitlab;
use serde::Deserialize;

#[derive(Deserialize)]
struct Project {
    id: u64,
    path_with_namespace: String,
    default_branch: String,
    web_url: String,
}

#[derive(Deserialize)]
struct CommitDetails {
    id: String,
    status: Option<String>,
    last_pipeline: Option<Pipeline>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Ref {
    name: String,
    commit: Named,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Pipeline {
    id: u64,
    sha: String,
    status: String,
    web_url: String,
}

#[derive(Deserialize)]
struct Stats {
    additions: u64,
    deletions: u64,
    total: u64,
}

#[derive(Debug, Deserialize)]
struct Status {
    id: u64,
    sha: String,
    name: String,
    status: String,
    allow_failure: bool,
    author: User,
}

#[derive(Debug, Deserialize)]
struct User {
    id: u64,
    username: String,
}

fn main() -> Outcome {
    let (sha, name) = (variable("STATUS_SHA"), variable("STATUS_REPOSITORY"));
    let (owner, _) = name.split_once('/').ok_or("no owner")?;
    let (url, token) = (variable("STATUS_URL"), variable("STATUS_TOKEN"));
    // It takes a host, and asks who the token's user is.
    let host = url.trim_start_matches("http://");
    let client = Gitlab::new_insecure(host, token)?;
    let report = |state: CommitStatusState, shown: &str, context: &str| {
        let mut request = CreateCommitStatus::builder();
        request
            .project(&name)
            .commit(&sha)
            .state(state)
            .name(context)
            .target_url("https://ci.example/1");
        let saved: Status = request.build()?.query(&client)?;
        expect(
            (saved.id > 0, saved.allow_failure, saved.author.id > 0),
            (true, false, true),
        )?;
        expect((saved.sha, saved.author.username), (sha.clone(), owner.into()))?;
        expect((saved.status.as_str(), saved.name.as_str()), (shown, context))
    };
    let mut calls = Calls::default();
    macro_rules! call {
        ($name:literal, $does:block) => {
            calls.end($name, (|| $does)())
        };
    }

    let mut number = 0;
    call!("get project", {
        let project: Project = projects::Project::builder().project(&name).build()?.query(&client)?;
        number = project.id;
        expect(
            (project.path_with_namespace, project.default_branch),
            (name.clone(), "main".into()),
        )?;
        expect(project.web_url.starts_with(&url), true)
    });
    call!("get project by number", {
        let project: Project = projects::Project::builder().project(number).build()?.query(&client)?;
        expect(project.path_with_namespace, name.clone())
    });
    call!("get commit", {
        let commit: CommitDetails = Commit::builder()
            .project(&name)
            .commit("main")
            .build()?
            .query(&client)?;
        expect(
            (commit.id, commit.status, commit.last_pipeline.is_none()),
            (sha.clone(), None, true),
        )?;
        expect(commit.stats.additions + commit.stats.deletions, commit.stats.total)
    });
    call!("report pending", {
        report(CommitStatusState::Pending, "pending", "build")
    });
    call!("report success", {
        report(CommitStatusState::Success, "success", "build")
    });
    call!("report others", {
        report(CommitStatusState::Success, "success", "lint")?;
        report(CommitStatusState::Success, "success", "test")
    });
    call!("status of the commit", {
        let commit: CommitDetails = Commit::builder().project(&name).commit(&sha).build()?.query(&client)?;
        let pipeline = commit.last_pipeline.ok_or("it has no pipeline")?;
        expect((pipeline.id > 0, pipeline.web_url.starts_with(&url)), (true, true))?;
        expect(
            (commit.status.as_deref(), pipeline.status.as_str()),
            (Some("success"), "success"),
        )?;
        expect(pipeline.sha, sha.clone())
    });
    call!("list statuses, by pages", {
        let request = CommitStatuses::builder().project(&name).commit(&sha).build()?;
        let statuses: Vec<Status> = paged(request, Pagination::AllPerPageLimit(2)).query(&client)?;
        let mut names: Vec<_> = statuses.into_iter().map(|status| status.name).collect();
        names.sort();
        expect(names, vec!["build".into(), "lint".into(), "test".into()])
    });
    call!("list branches, by pages", {
        let request = Branches::builder().project(&name).build()?;
        let branches: Vec<Ref> = paged(request, Pagination::AllPerPageLimit(1)).query(&client)?;
        let names: Vec<_> = branches.into_iter().map(|branch| branch.name).collect();
        expect(names, vec!["feature/one".into(), "main".into()])
    });
    call!("get branch", {
        let branch: Ref = Branch::builder()
            .project(&name)
            .branch("feature/one")
            .build()?
            .query(&client)?;
        expect(branch.commit.id, sha.clone())
    });
    call!("list tags", {
        let tags: Vec<Ref> = Tags::builder().project(&name).build()?.query(&client)?;
        expect(tags.into_iter().map(|tag| tag.name).collect(), vec!["v1.0".to_string()])
    });
    call!("get user", {
        let user: User = users::CurrentUser::builder().build()?.query(&client)?;
        expect(user.username, owner.into())
    });
    call!("report on no commit", {
        let unknown = "e".repeat(40);
        let mut request = CreateCommitStatus::builder();
        let request = request
            .project(&name)
            .commit(unknown)
            .state(CommitStatusState::Success)
            .build()?;
        match Query::<Status, _>::query(&request, &client) {
            Err(ApiError::GitlabWithStatus { status, .. }) => expect(status.as_u16(), 404),
            other => Err(format!("it is no refusal: {other:?}").into()),
        }
    });
    Ok(())
}
