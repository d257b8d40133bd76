// Gitea's API by forgejo-api.
#[path = "../../calls/calls.rs"]
mod calls;

use calls::{expect, variable, Calls, Outcome};
use forgejo_api::structs::{CommitStatusState, CreateStatusOption};
use forgejo_api::{ApiErrorKind, Auth, Forgejo, ForgejoError};
use url::Url;

fn status(state: CommitStatusState, context: &str) -> CreateStatusOption {
    CreateStatusOption {
        context: Some(context.into()),
        description: None,
        state: Some(state),
        target_url: Some("https://ci.example/1".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let (url, token) = (variable("STATUS_GITEA_HOST"), variable("STATUS_TOKEN"));
    let (sha, name) = (variable("STATUS_SHA"), variable("STATUS_REPOSITORY"));
    let (owner, repo) = name.split_once('/').ok_or("no owner")?;
    // It keeps no more than the host of an address: this one is Gitea's, by the setting `giteaHosts`.
    let client = Forgejo::new(Auth::Token(&token), Url::parse(&url)?)?;
    let report = |state: CommitStatusState, context: &'static str| {
        let request = client.repo_create_status(owner, repo, &sha, status(state, context));
        async move {
            let saved = request.send().await?;
            expect(saved.creator.and_then(|creator| creator.login), Some(owner.into()))?;
            expect((saved.status, saved.context.as_deref()), (Some(state), Some(context)))
        }
    };
    let mut calls = Calls::default();
    macro_rules! call {
        ($name:literal, $does:block) => {
            calls.end($name, async { $does }.await)
        };
    }

    call!("get version", {
        expect(client.get_version().await?.version.is_some(), true)
    });
    call!("get repository", {
        expect(client.repo_get(owner, repo).await?.full_name, Some(name.clone()))
    });
    call!("report pending", { report(CommitStatusState::Pending, "build").await });
    call!("report success", { report(CommitStatusState::Success, "build").await });
    call!("report others", {
        report(CommitStatusState::Success, "lint").await?;
        report(CommitStatusState::Success, "test").await
    });
    call!("combined status", {
        let (_, combined) = client.repo_get_combined_status_by_ref(owner, repo, "main").await?;
        expect(
            (combined.state, combined.total_count),
            (Some(CommitStatusState::Success), Some(3)),
        )?;
        expect(combined.sha, Some(sha.clone()))
    });
    call!("list statuses, by pages", {
        let request = client
            .repo_list_statuses(owner, repo, &sha, Default::default())
            .page_size(2);
        let mut names: Vec<_> = request
            .all()
            .await?
            .into_iter()
            .filter_map(|status| status.context)
            .collect();
        names.sort();
        expect(names, vec!["build".into(), "lint".into(), "test".into()])
    });
    call!("get commit", {
        let commit = client
            .repo_get_single_commit(owner, repo, "main", Default::default())
            .await?;
        expect(commit.sha, Some(sha.clone()))
    });
    call!("list branches, by pages", {
        let branches = client.repo_list_branches(owner, repo).page_size(1).all().await?;
        let mut names: Vec<_> = branches.into_iter().filter_map(|branch| branch.name).collect();
        names.sort();
        expect(names, vec!["feature/one".into(), "main".into()])
    });
    call!("get branch", {
        let branch = client.repo_get_branch(owner, repo, "feature/one").await?;
        expect(branch.commit.and_then(|commit| commit.id), Some(sha.clone()))
    });
    call!("list refs", {
        let refs = client.repo_list_git_refs(owner, repo, "heads").await?;
        expect(refs.len(), 2)
    });
    call!("list all refs", {
        expect(client.repo_list_all_git_refs(owner, repo).await?.len(), 3)
    });
    call!("list tags", {
        let tags = client.repo_list_tags(owner, repo).all().await?;
        expect(
            tags.into_iter().filter_map(|tag| tag.name).collect(),
            vec!["v1.0".to_string()],
        )
    });
    call!("get another user", {
        expect(client.user_get("bob").await?.login, Some("bob".into()))
    });
    call!("get user", {
        expect(client.user_get_current().await?.login, Some(owner.into()))
    });
    call!("report on no commit", {
        let request = client.repo_create_status(owner, repo, &"e".repeat(40), status(CommitStatusState::Success, ""));
        match request.await {
            Err(ForgejoError::ApiError(error)) if matches!(error.error_kind(), ApiErrorKind::NotFound { .. }) => Ok(()),
            other => Err(format!("it is no refusal: {other:?}").into()),
        }
    });
    Ok(())
}
