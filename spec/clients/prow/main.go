// GitHub's API by the client of Prow.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"commit-status/calls"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/prow/pkg/github"
)

func main() {
	url, token, sha := os.Getenv("STATUS_URL"), os.Getenv("STATUS_TOKEN"), os.Getenv("STATUS_SHA")
	owner, repo, _ := strings.Cut(os.Getenv("STATUS_REPOSITORY"), "/")
	logrus.SetLevel(logrus.WarnLevel)
	getToken, censor := func() []byte { return []byte(token) }, func(content []byte) []byte { return content }
	client, err := github.NewClient(getToken, censor, url+"/api/graphql", url+"/api/v3")
	if err != nil {
		panic(err)
	}
	report := func(state, name string) error {
		status := github.Status{State: state, Context: name, TargetURL: "https://ci.example/1"}
		return client.CreateStatus(owner, repo, sha, status)
	}
	namesOf := func(statuses []github.Status) []string {
		var names []string
		for _, status := range statuses {
			names = append(names, status.Context)
		}
		slices.Sort(names)
		return names
	}

	calls.Call("get repository", func() error {
		found, err := client.GetRepo(owner, repo)
		return errors.Join(err, calls.Expect(found.FullName, owner+"/"+repo))
	})
	calls.Call("get commit", func() error {
		commit, err := client.GetSingleCommit(owner, repo, "main")
		return errors.Join(err, calls.Expect(commit.SHA, sha))
	})
	calls.Call("report pending", func() error { return report("pending", "build") })
	calls.Call("report success", func() error { return report("success", "build") })
	calls.Call("report others", func() error { return errors.Join(report("success", "lint"), report("success", "test")) })
	calls.Call("combined status", func() error {
		combined, err := client.GetCombinedStatus(owner, repo, "main")
		if err != nil {
			return err
		}
		return errors.Join(calls.Expect(combined.State, "success"), calls.Expect(namesOf(combined.Statuses), []string{"build", "lint", "test"}))
	})
	calls.Call("list statuses", func() error {
		statuses, err := client.ListStatuses(owner, repo, sha)
		return errors.Join(err, calls.Expect(namesOf(statuses), []string{"build", "lint", "test"}))
	})
	calls.Call("list check runs", func() error {
		runs, err := client.ListCheckRuns(owner, repo, sha)
		if err != nil {
			return err
		}
		return calls.Expect(runs.Total, 0)
	})
	calls.Call("list branches", func() error {
		branches, err := client.GetBranches(owner, repo, false)
		return errors.Join(err, calls.Expect(branches, []github.Branch{{Name: "feature/one"}, {Name: "main"}}))
	})
	calls.Call("get ref", func() error {
		found, err := client.GetRef(owner, repo, "heads/feature/one")
		return errors.Join(err, calls.Expect(found, sha))
	})
	calls.Call("get user", func() error {
		user, err := client.BotUser()
		if err != nil {
			return err
		}
		return calls.Expect(user.Login, owner)
	})
	calls.Call("report on no commit", func() error {
		err := client.CreateStatus(owner, repo, strings.Repeat("e", 40), github.Status{State: "success"})
		if err == nil || !strings.Contains(err.Error(), "422") {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return nil
	})
	calls.End()
}
