// GitLab's API by GitLab's client-go.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
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
		return expect([]string{saved.Status, saved.Name, saved.Author.Username}, []string{string(state), name, owner})
	}

	var number int64
	call("get project", func() error {
		found, _, err := client.Projects.GetProject(project, nil)
		if err != nil {
			return err
		}
		number = found.ID
		return expect(found.PathWithNamespace, project)
	})
	call("get project by number", func() error {
		found, _, err := client.Projects.GetProject(number, nil)
		if err != nil {
			return err
		}
		return expect(found.PathWithNamespace, project)
	})
	call("get commit", func() error {
		commit, _, err := client.Commits.GetCommit(project, "main", nil)
		if err != nil {
			return err
		}
		return expect(commit.ID, sha)
	})
	call("report pending", func() error { return report(gitlab.Pending, "build") })
	call("report success", func() error { return report(gitlab.Success, "build") })
	call("report others", func() error { return errors.Join(report(gitlab.Success, "lint"), report(gitlab.Success, "test")) })
	call("status of the commit", func() error {
		commit, _, err := client.Commits.GetCommit(project, sha, nil)
		if err != nil {
			return err
		}
		if commit.Status == nil || commit.LastPipeline == nil {
			return errors.New("it has none")
		}
		return expect([]string{string(*commit.Status), commit.LastPipeline.Status}, []string{"success", "success"})
	})
	call("list statuses, by pages", func() error {
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
				return expect(names, []string{"build", "lint", "test"})
			}
		}
	})
	call("list branches, by pages", func() error {
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
				return expect(names, []string{"feature/one", "main"})
			}
		}
	})
	call("get branch", func() error {
		branch, _, err := client.Branches.GetBranch(project, "feature/one")
		if err != nil {
			return err
		}
		return expect([]any{branch.Commit.ID, branch.Default}, []any{sha, false})
	})
	call("list tags", func() error {
		tags, _, err := client.Tags.ListTags(project, nil)
		if err != nil || len(tags) != 1 {
			return errors.Join(err, expect(len(tags), 1))
		}
		return expect(tags[0].Name, "v1.0")
	})
	call("get user", func() error {
		user, _, err := client.Users.CurrentUser()
		if err != nil {
			return err
		}
		return expect(user.Username, owner)
	})
	call("get version", func() error {
		_, _, err := client.Version.GetVersion()
		return err
	})
	call("report on no commit", func() error {
		options := &gitlab.SetCommitStatusOptions{State: gitlab.Success}
		_, response, err := client.Commits.SetCommitStatus(project, strings.Repeat("e", 40), options)
		if err == nil || response == nil {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return expect(response.StatusCode, 404)
	})
	if failed {
		os.Exit(1)
	}
}
