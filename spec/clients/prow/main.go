// GitHub's API by the client of Prow.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"sigs.k8s.io/prow/pkg/github"
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

	call("get repository", func() error {
		found, err := client.GetRepo(owner, repo)
		return errors.Join(err, expect(found.FullName, owner+"/"+repo))
	})
	call("get commit", func() error {
		commit, err := client.GetSingleCommit(owner, repo, "main")
		return errors.Join(err, expect(commit.SHA, sha))
	})
	call("report pending", func() error { return report("pending", "build") })
	call("report success", func() error { return report("success", "build") })
	call("report others", func() error { return errors.Join(report("success", "lint"), report("success", "test")) })
	call("combined status", func() error {
		combined, err := client.GetCombinedStatus(owner, repo, "main")
		if err != nil {
			return err
		}
		return errors.Join(expect(combined.State, "success"), expect(namesOf(combined.Statuses), []string{"build", "lint", "test"}))
	})
	call("list statuses", func() error {
		statuses, err := client.ListStatuses(owner, repo, sha)
		return errors.Join(err, expect(namesOf(statuses), []string{"build", "lint", "test"}))
	})
	call("list check runs", func() error {
		runs, err := client.ListCheckRuns(owner, repo, sha)
		if err != nil {
			return err
		}
		return expect(runs.Total, 0)
	})
	call("list branches", func() error {
		branches, err := client.GetBranches(owner, repo, false)
		return errors.Join(err, expect(branches, []github.Branch{{Name: "feature/one"}, {Name: "main"}}))
	})
	call("get ref", func() error {
		found, err := client.GetRef(owner, repo, "heads/feature/one")
		return errors.Join(err, expect(found, sha))
	})
	call("get user", func() error {
		user, err := client.BotUser()
		if err != nil {
			return err
		}
		return expect(user.Login, owner)
	})
	call("report on no commit", func() error {
		err := client.CreateStatus(owner, repo, strings.Repeat("e", 40), github.Status{State: "success"})
		if err == nil || !strings.Contains(err.Error(), "422") {
			return fmt.Errorf("it is no refusal: %w", err)
		}
		return nil
	})
	if failed {
		os.Exit(1)
	}
}
