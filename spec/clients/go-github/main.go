// GitHub's API by go-github.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-github/v89/github"
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
	ctx := context.Background()
	client, err := github.NewClient(github.WithAuthToken(token), github.WithEnterpriseURLs(url, url))
	if err != nil {
		panic(err)
	}
	report := func(state, name string) error {
		status := github.RepoStatus{State: &state, Context: &name, TargetURL: github.Ptr("https://ci.example/1")}
		saved, _, err := client.Repositories.CreateStatus(ctx, owner, repo, sha, status)
		if err != nil {
			return err
		}
		return expect([]string{saved.GetState(), saved.GetContext(), saved.GetCreator().GetLogin()}, []string{state, name, owner})
	}

	call("get repository", func() error {
		found, _, err := client.Repositories.Get(ctx, owner, repo)
		return errors.Join(err, expect(found.GetFullName(), owner+"/"+repo))
	})
	call("get commit", func() error {
		commit, _, err := client.Repositories.GetCommit(ctx, owner, repo, "main", nil)
		return errors.Join(err, expect(commit.GetSHA(), sha))
	})
	call("get commit of git", func() error {
		commit, _, err := client.Git.GetCommit(ctx, owner, repo, sha)
		return errors.Join(err, expect(commit.GetSHA(), sha))
	})
	call("report pending", func() error { return report("pending", "build") })
	call("report success", func() error { return report("success", "build") })
	call("report others", func() error { return errors.Join(report("success", "lint"), report("success", "test")) })
	call("combined status", func() error {
		combined, _, err := client.Repositories.GetCombinedStatus(ctx, owner, repo, "main", nil)
		return errors.Join(err, expect([]any{combined.GetState(), combined.GetTotalCount()}, []any{"success", 3}))
	})
	call("list statuses, by pages", func() error {
		var names []string
		for options := (&github.ListOptions{PerPage: 2}); ; {
			page, response, err := client.Repositories.ListStatuses(ctx, owner, repo, sha, options)
			if err != nil {
				return err
			}
			for _, status := range page {
				names = append(names, status.GetContext())
			}
			if options.Page = response.NextPage; options.Page == 0 {
				slices.Sort(names)
				return expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	call("list check runs", func() error {
		runs, _, err := client.Checks.ListCheckRunsForRef(ctx, owner, repo, sha, nil)
		return errors.Join(err, expect(runs.GetTotal(), 0))
	})
	call("list branches, by pages", func() error {
		var names []string
		for options := (&github.BranchListOptions{ListOptions: github.ListOptions{PerPage: 1}}); ; {
			page, response, err := client.Repositories.ListBranches(ctx, owner, repo, options)
			if err != nil {
				return err
			}
			for _, branch := range page {
				names = append(names, branch.GetName())
			}
			if options.Page = response.NextPage; options.Page == 0 {
				return expect(names, []string{"feature/one", "main"})
			}
		}
	})
	call("get branch", func() error {
		branch, _, err := client.Repositories.GetBranch(ctx, owner, repo, "feature/one", 0)
		return errors.Join(err, expect(branch.GetCommit().GetSHA(), sha))
	})
	call("get ref", func() error {
		ref, _, err := client.Git.GetRef(ctx, owner, repo, "heads/feature/one")
		return errors.Join(err, expect(ref.GetObject().GetSHA(), sha))
	})
	call("list matching refs", func() error {
		refs, _, err := client.Git.ListMatchingRefs(ctx, owner, repo, "heads/feature")
		return errors.Join(err, expect(len(refs), 1))
	})
	call("list tags", func() error {
		tags, _, err := client.Repositories.ListTags(ctx, owner, repo, nil)
		if err != nil || len(tags) != 1 {
			return errors.Join(err, expect(len(tags), 1))
		}
		return expect(tags[0].GetName(), "v1.0")
	})
	call("get user", func() error {
		user, _, err := client.Users.Get(ctx, "")
		return errors.Join(err, expect(user.GetLogin(), owner))
	})
	call("get another user", func() error {
		user, _, err := client.Users.Get(ctx, "bob")
		return errors.Join(err, expect(user.GetLogin(), "bob"))
	})
	call("report on no commit", func() error {
		status := github.RepoStatus{State: github.Ptr("success")}
		_, _, err := client.Repositories.CreateStatus(ctx, owner, repo, strings.Repeat("e", 40), status)
		var refusal *github.ErrorResponse
		if !errors.As(err, &refusal) {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return expect(refusal.Response.StatusCode, 422)
	})
	if failed {
		os.Exit(1)
	}
}
