// GitLab's API by GitLab's client-go.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"commit-status/calls"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func main() {
	url, token, sha := os.Getenv("STATUS_URL"), os.Getenv("STATUS_TOKEN"), os.Getenv("STATUS_SHA")
	project := os.Getenv("STATUS_REPOSITORY")
	owner, _, _ := strings.Cut(project, "/")
	client, err := gitlab.NewClient(token, gitlab.WithBaseURL(url))
	if err != nil {
		panic(err)
	}
	report := func(state gitlab.BuildStateValue, name string) error {
		options := &gitlab.SetCommitStatusOptions{State: state, Name: &name, TargetURL: gitlab.Ptr("https://ci.example/1")}
		saved, _, err := client.Commits.SetCommitStatus(project, sha, options)
		if err != nil {
			return err
		}
		return calls.Expect([]string{saved.Status, saved.Name, saved.Author.Username}, []string{string(state), name, owner})
	}

	var number int64
	calls.Call("get project", func() error {
		found, _, err := client.Projects.GetProject(project, nil)
		if err != nil {
			return err
		}
		number = found.ID
		return calls.Expect(found.PathWithNamespace, project)
	})
	calls.Call("get project by number", func() error {
		found, _, err := client.Projects.GetProject(number, nil)
		if err != nil {
			return err
		}
		return calls.Expect(found.PathWithNamespace, project)
	})
	calls.Call("get commit", func() error {
		commit, _, err := client.Commits.GetCommit(project, "main", nil)
		if err != nil {
			return err
		}
		return calls.Expect(commit.ID, sha)
	})
	calls.Call("report pending", func() error { return report(gitlab.Pending, "build") })
	calls.Call("report success", func() error { return report(gitlab.Success, "build") })
	calls.Call("report others", func() error { return errors.Join(report(gitlab.Success, "lint"), report(gitlab.Success, "test")) })
	calls.Call("status of the commit", func() error {
		commit, _, err := client.Commits.GetCommit(project, sha, nil)
		if err != nil {
			return err
		}
		if commit.Status == nil || commit.LastPipeline == nil {
			return errors.New("it has none")
		}
		return calls.Expect([]string{string(*commit.Status), commit.LastPipeline.Status}, []string{"success", "success"})
	})
	calls.Call("list statuses, by pages", func() error {
		var names []string
		options := &gitlab.GetCommitStatusesOptions{ListOptions: gitlab.ListOptions{PerPage: 2}}
		for {
			page, response, err := client.Commits.GetCommitStatuses(project, sha, options)
			if err != nil {
				return err
			}
			for _, status := range page {
				names = append(names, status.Name)
			}
			if options.Page = response.NextPage; options.Page == 0 {
				slices.Sort(names)
				return calls.Expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	calls.Call("list branches, by pages", func() error {
		var names []string
		options := &gitlab.ListBranchesOptions{ListOptions: gitlab.ListOptions{PerPage: 1}}
		for {
			page, response, err := client.Branches.ListBranches(project, options)
			if err != nil {
				return err
			}
			for _, branch := range page {
				names = append(names, branch.Name)
			}
			if options.Page = response.NextPage; options.Page == 0 {
				return calls.Expect(names, []string{"feature/one", "main"})
			}
		}
	})
	calls.Call("get branch", func() error {
		branch, _, err := client.Branches.GetBranch(project, "feature/one")
		if err != nil {
			return err
		}
		return calls.Expect([]any{branch.Commit.ID, branch.Default}, []any{sha, false})
	})
	calls.Call("list tags", func() error {
		tags, _, err := client.Tags.ListTags(project, nil)
		if err != nil || len(tags) != 1 {
			return errors.Join(err, calls.Expect(len(tags), 1))
		}
		return calls.Expect(tags[0].Name, "v1.0")
	})
	calls.Call("get user", func() error {
		user, _, err := client.Users.CurrentUser()
		if err != nil {
			return err
		}
		return calls.Expect(user.Username, owner)
	})
	calls.Call("get version", func() error {
		_, _, err := client.Version.GetVersion()
		return err
	})
	calls.Call("report on no commit", func() error {
		options := &gitlab.SetCommitStatusOptions{State: gitlab.Success}
		_, response, err := client.Commits.SetCommitStatus(project, strings.Repeat("e", 40), options)
		if err == nil || response == nil {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return calls.Expect(response.StatusCode, 404)
	})
	calls.End()
}
