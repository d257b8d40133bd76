// GitHub's API by octocrab.
#[path = "../../calls/calls.rs"]
mod calls;

use calls::{expect, variable, Calls, Outcome};
use octocrab::models::repos::Object;
use octocrab::models::{Status, StatusState};
use octocrab::params::repos::Reference;
use octocrab::{Error, Octocrab, Page};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let (url, token) = (variable("STATUS_URL"), variable("STATUS_TOKEN"));
    let (sha, name) = (variable("STATUS_SHA"), variable("STATUS_REPOSITORY"));
    let (owner, repo) = name.split_once('/').ok_or("no owner")?;
    let client = Octocrab::builder()
        .base_uri(format!("{url}/api/v3"))?
        .personal_token(token)
        .build()?;
    let repository = client.repos(owner, repo);
    let report = |state: StatusState, context: &'static str| {
        let (repository, sha) = (&repository, sha.clone());
        async move {
            let request = repository.create_status(sha, state.clone()).context(context.into());
            let saved = request.target("https://ci.example/1".into()).send().await?;
            expect(saved.creator.map(|creator| creator.login), Some(owner.into()))?;
            expect((saved.state, saved.context.as_deref()), (state, Some(context)))
        }
    };
    let mut calls = Calls::default();
    macro_rules! call {
        ($name:literal, $does:block) => {
            calls.end($name, async { $does }.await)
        };
    }

    call!("get repository", {
        expect(repository.get().await?.full_name, Some(name.clone()))
    });
    call!("get commit", {
        expect(client.commits(owner, repo).get("main").await?.sha, sha.clone())
    });
    call!("get commit of git", {
        expect(repository.get_commit(sha.clone()).await?.sha, sha.clone())
    });
    call!("report pending", { report(StatusState::Pending, "build").await });
    call!("report success", { report(StatusState::Success, "build").await });
    call!("report others", {
        report(StatusState::Success, "lint").await?;
        report(StatusState::Success, "test").await
    });
    call!("combined status", {
        let combined = repository
            .combined_status_for_ref(&Reference::Branch("main".into()))
            .await?;
        expect(
            (combined.state, combined.total_count, combined.sha),
            (StatusState::Success, 3, sha.clone()),
        )
    });
    call!("list statuses, by pages", {
        let first: Page<Status> = repository.list_statuses(sha.clone()).per_page(2).send().await?;
        let mut names: Vec<_> = client
            .all_pages(first)
            .await?
            .into_iter()
            .filter_map(|status| status.context)
            .collect();
        names.sort();
        expect(names, vec!["build".into(), "lint".into(), "test".into()])
    });
    call!("list check runs", {
        let runs = client
            .checks(owner, repo)
            .list_check_runs_for_git_ref(sha.clone().into())
            .send()
            .await?;
        expect(runs.total_count, 0)
    });
    call!("list check suites", {
        let suites = client
            .checks(owner, repo)
            .list_check_suites_for_git_ref(sha.clone().into())
            .send()
            .await?;
        expect(suites.total_count, 0)
    });
    call!("list branches, by pages", {
        let first = repository.branches().list().per_page(1).send().await?;
        let names: Vec<_> = client
            .all_pages(first)
            .await?
            .into_iter()
            .map(|branch| branch.name)
            .collect();
        expect(names, vec!["feature/one".into(), "main".into()])
    });
    call!("get branch", {
        let branch = repository.branches().get("feature/one").await?;
        expect((branch.name, branch.commit.sha), ("feature/one".into(), sha.clone()))
    });
    call!("get ref", {
        let found = repository.get_ref(&Reference::Branch("feature/one".into())).await?;
        expect(
            matches!(found.object, Object::Commit { sha: named, .. } if named == sha),
            true,
        )
    });
    call!("list matching refs", {
        expect(repository.list_matching_refs("heads/feature").await?.len(), 1)
    });
    call!("list tags", {
        let names: Vec<_> = repository
            .list_tags()
            .send()
            .await?
            .into_iter()
            .map(|tag| tag.name)
            .collect();
        expect(names, vec!["v1.0".into()])
    });
    call!("get user", {
        expect(client.current().user().await?.login, owner.into())
    });
    call!("get another user", {
        expect(client.users("bob").profile().await?.login, "bob".into())
    });
    call!("report on no commit", {
        match repository
            .create_status("e".repeat(40), StatusState::Success)
            .send()
            .await
        {
            Err(Error::GitHub { source, .. }) => expect(source.status_code.as_u16(), 422),
            other => Err(format!("it is no refusal: {other:?}").into()),
        }
    });
    Ok(())
}
