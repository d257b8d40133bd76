// Gitea's API by Gitea's SDK.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
	"commit-status/calls"
)

func main() {
	url, token, sha := os.Getenv("STATUS_URL"), os.Getenv("STATUS_TOKEN"), os.Getenv("STATUS_SHA")
	owner, repo, _ := strings.Cut(os.Getenv("STATUS_REPOSITORY"), "/")
	var client *gitea.Client
	calls.Call("get version", func() (err error) {
		client, err = gitea.NewClient(url+"/gitea", gitea.SetToken(token))
		return err
	})
	if client == nil {
		os.Exit(1)
	}
	report := func(state gitea.StatusState, name string) error {
		options := gitea.CreateStatusOption{State: state, Context: name, TargetURL: "https://ci.example/1"}
		saved, _, err := client.CreateStatus(owner, repo, sha, options)
		if err != nil {
			return err
		}
		return calls.Expect([]string{string(saved.State), saved.Context, saved.Creator.UserName}, []string{string(state), name, owner})
	}

	calls.Call("get repository", func() error {
		found, _, err := client.GetRepo(owner, repo)
		if err != nil {
			return err
		}
		return calls.Expect(found.FullName, owner+"/"+repo)
	})
	calls.Call("report pending", func() error { return report(gitea.StatusPending, "build") })
	calls.Call("report success", func() error { return report(gitea.StatusSuccess, "build") })
	calls.Call("report others", func() error {
		return errors.Join(report(gitea.StatusSuccess, "lint"), report(gitea.StatusSuccess, "test"))
	})
	calls.Call("combined status", func() error {
		combined, _, err := client.GetCombinedStatus(owner, repo, "main")
		if err != nil {
			return err
		}
		return calls.Expect([]any{string(combined.State), combined.TotalCount, combined.SHA}, []any{"success", 3, sha})
	})
	calls.Call("list statuses, by pages", func() error {
		var names []string
		for page := 1; ; page++ {
			options := gitea.ListStatusesOption{ListOptions: gitea.ListOptions{Page: page, PageSize: 2}}
			statuses, response, err := client.ListStatuses(owner, repo, sha, options)
			if err != nil {
				return err
			}
			for _, status := range statuses {
				names = append(names, status.Context)
			}
			if response.NextPage == 0 {
				slices.Sort(names)
				return calls.Expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	calls.Call("get commit", func() error {
		commit, _, err := client.GetSingleCommit(owner, repo, "main")
		if err != nil {
			return err
		}
		return calls.Expect([]string{commit.SHA, commit.RepoCommit.Message}, []string{sha, "another commit\n"})
	})
	calls.Call("list branches, by pages", func() error {
		var names []string
		for page := 1; ; page++ {
			options := gitea.ListRepoBranchesOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: 1}}
			branches, response, err := client.ListRepoBranches(owner, repo, options)
			if err != nil {
				return err
			}
			for _, branch := range branches {
				names = append(names, branch.Name)
			}
			if response.NextPage == 0 {
				slices.Sort(names)
				return calls.Expect(names, []string{"feature/one", "main"})
			}
		}
	})
	calls.Call("get branch", func() error {
		branch, _, err := client.GetRepoBranch(owner, repo, "feature/one")
		if err != nil {
			return err
		}
		return calls.Expect(branch.Commit.ID, sha)
	})
	calls.Call("get ref", func() error {
		ref, _, err := client.GetRepoRef(owner, repo, "heads/feature/one")
		if err != nil {
			return err
		}
		return calls.Expect(ref.Object.SHA, sha)
	})
	calls.Call("list tags", func() error {
		tags, _, err := client.ListRepoTags(owner, repo, gitea.ListRepoTagsOptions{})
		if err != nil || len(tags) != 1 {
			return errors.Join(err, calls.Expect(len(tags), 1))
		}
		return calls.Expect(tags[0].Name, "v1.0")
	})
	calls.Call("get another user", func() error {
		user, _, err := client.GetUserInfo("bob")
		if err != nil {
			return err
		}
		return calls.Expect(user.UserName, "bob")
	})
	calls.Call("get user", func() error {
		user, _, err := client.GetMyUserInfo()
		if err != nil {
			return err
		}
		return calls.Expect(user.UserName, owner)
	})
	calls.Call("report on no commit", func() error {
		options := gitea.CreateStatusOption{State: gitea.StatusSuccess}
		_, response, err := client.CreateStatus(owner, repo, strings.Repeat("e", 40), options)
		if err == nil || response == nil {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return calls.Expect(response.StatusCode, 404)
	})
	calls.End()
}
