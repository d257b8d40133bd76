// Gitea's API by Gitea's SDK.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
)

var failed bool

// Prints what came of a call.
func call(name string, do func() error) {
	if err := do(); err != nil {
		failed = true
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
	} else {
		fmt.Printf("ok %s\n", name)
	}
}

func expect(got, wanted any) error {
	if reflect.DeepEqual(got, wanted) {
		return nil
	}
	return fmt.Errorf("it is %v, not %v", got, wanted)
}

func main() {
	url, token, sha := os.Getenv("STATUS_URL"), os.Getenv("STATUS_TOKEN"), os.Getenv("STATUS_SHA")
	owner, repo, _ := strings.Cut(os.Getenv("STATUS_REPOSITORY"), "/")
	var client *gitea.Client
	call("get version", func() (err error) {
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
		return expect([]string{string(saved.State), saved.Context, saved.Creator.UserName}, []string{string(state), name, owner})
	}

	call("get repository", func() error {
		found, _, err := client.GetRepo(owner, repo)
		if err != nil {
			return err
		}
		return expect(found.FullName, owner+"/"+repo)
	})
	call("report pending", func() error { return report(gitea.StatusPending, "build") })
	call("report success", func() error { return report(gitea.StatusSuccess, "build") })
	call("report others", func() error {
		return errors.Join(report(gitea.StatusSuccess, "lint"), report(gitea.StatusSuccess, "test"))
	})
	call("combined status", func() error {
		combined, _, err := client.GetCombinedStatus(owner, repo, "main")
		if err != nil {
			return err
		}
		return expect([]any{string(combined.State), combined.TotalCount, combined.SHA}, []any{"success", 3, sha})
	})
	call("list statuses, by pages", func() error {
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
				return expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	call("get commit", func() error {
		commit, _, err := client.GetSingleCommit(owner, repo, "main")
		if err != nil {
			return err
		}
		return expect([]string{commit.SHA, commit.RepoCommit.Message}, []string{sha, "another commit\n"})
	})
	call("list branches, by pages", func() error {
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
				return expect(names, []string{"feature/one", "main"})
			}
		}
	})
	call("get branch", func() error {
		branch, _, err := client.GetRepoBranch(owner, repo, "feature/one")
		if err != nil {
			return err
		}
		return expect(branch.Commit.ID, sha)
	})
	call("get ref", func() error {
		ref, _, err := client.GetRepoRef(owner, repo, "heads/feature/one")
		if err != nil {
			return err
		}
		return expect(ref.Object.SHA, sha)
	})
	call("list tags", func() error {
		tags, _, err := client.ListRepoTags(owner, repo, gitea.ListRepoTagsOptions{})
		if err != nil || len(tags) != 1 {
			return errors.Join(err, expect(len(tags), 1))
		}
		return expect(tags[0].Name, "v1.0")
	})
	call("get another user", func() error {
		user, _, err := client.GetUserInfo("bob")
		if err != nil {
			return err
		}
		return expect(user.UserName, "bob")
	})
	call("get user", func() error {
		user, _, err := client.GetMyUserInfo()
		if err != nil {
			return err
		}
		return expect(user.UserName, owner)
	})
	call("report on no commit", func() error {
		options := gitea.CreateStatusOption{State: gitea.StatusSuccess}
		_, response, err := client.CreateStatus(owner, repo, strings.Repeat("e", 40), options)
		if err == nil || response == nil {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return expect(response.StatusCode, 404)
	})
	if failed {
		os.Exit(1)
	}
}
