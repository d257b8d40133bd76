// GitHub's API by go-github.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"commit-status/calls"
	"github.com/google/go-github/v89/github"
)

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
		return calls.Expect([]string{saved.GetState(), saved.GetContext(), saved.GetCreator().GetLogin()}, []string{state, name, owner})
	}

	calls.Call("get repository", func() error {
		found, _, err := client.Repositories.Get(ctx, owner, repo)
		return errors.Join(err, calls.Expect(found.GetFullName(), owner+"/"+repo))
	})
	calls.Call("get commit", func() error {
		commit, _, err := client.Repositories.GetCommit(ctx, owner, repo, "main", nil)
		return errors.Join(err, calls.Expect(commit.GetSHA(), sha))
	})
	calls.Call("get commit of git", func() error {
		commit, _, err := client.Git.GetCommit(ctx, owner, repo, sha)
		return errors.Join(err, calls.Expect(commit.GetSHA(), sha))
	})
	calls.Call("report pending", func() error { return report("pending", "build") })
	calls.Call("report success", func() error { return report("success", "build") })
	calls.Call("report others", func() error { return errors.Join(report("success", "lint"), report("success", "test")) })
	calls.Call("combined status", func() error {
		combined, _, err := client.Repositories.GetCombinedStatus(ctx, owner, repo, "main", nil)
		return errors.Join(err, calls.Expect([]any{combined.GetState(), combined.GetTotalCount()}, []any{"success", 3}))
	})
	calls.Call("list statuses, by pages", func() error {
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
				return calls.Expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	calls.Call("list check runs", func() error {
		runs, _, err := client.Checks.ListCheckRunsForRef(ctx, owner, repo, sha, nil)
		return errors.Join(err, calls.Expect(runs.GetTotal(), 0))
	})
	calls.Call("list branches, by pages", func() error {
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
				return calls.Expect(names, []string{"feature/one", "main"})
			}
		}
	})
	calls.Call("get branch", func() error {
		branch, _, err := client.Repositories.GetBranch(ctx, owner, repo, "feature/one", 0)
		return errors.Join(err, calls.Expect(branch.GetCommit().GetSHA(), sha))
	})
	calls.Call("get ref", func() error {
		ref, _, err := client.Git.GetRef(ctx, owner, repo, "heads/feature/one")
		return errors.Join(err, calls.Expect(ref.GetObject().GetSHA(), sha))
	})
	calls.Call("list matching refs", func() error {
		refs, _, err := client.Git.ListMatchingRefs(ctx, owner, repo, "heads/feature")
		return errors.Join(err, calls.Expect(len(refs), 1))
	})
	calls.Call("list tags", func() error {
		tags, _, err := client.Repositories.ListTags(ctx, owner, repo, nil)
		if err != nil || len(tags) != 1 {
			return errors.Join(err, calls.Expect(len(tags), 1))
		}
		return calls.Expect(tags[0].GetName(), "v1.0")
	})
	calls.Call("get user", func() error {
		user, _, err := client.Users.Get(ctx, "")
		return errors.Join(err, calls.Expect(user.GetLogin(), owner))
	})
	calls.Call("get another user", func() error {
		user, _, err := client.Users.Get(ctx, "bob")
		return errors.Join(err, calls.Expect(user.GetLogin(), "bob"))
	})
	calls.Call("report on no commit", func() error {
		status := github.RepoStatus{State: github.Ptr("success")}
		_, _, err := client.Repositories.CreateStatus(ctx, owner, repo, strings.Repeat("e", 40), status)
		var refusal *github.ErrorResponse
		if !errors.As(err, &refusal) {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return calls.Expect(refusal.Response.StatusCode, 422)
	})
	calls.End()
}
