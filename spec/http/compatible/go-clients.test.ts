// GitHub's and GitLab's clients for Go from Debian: what most CI programs are built on.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { goEnvironment, runClient } from '../../fixtures/debian-client.js'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { missing } from '../../fixtures/program.js'

const GITHUB = `package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-github/github"
	"golang.org/x/oauth2"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	url, token, sha := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	source := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
	client, err := github.NewEnterpriseClient(url, url, oauth2.NewClient(ctx, source))
	check(err)
	for number := 0; number < 3; number++ {
		name := fmt.Sprintf("check-%d", number)
		report := &github.RepoStatus{State: github.String("success"), Context: &name}
		status, _, err := client.Repositories.CreateStatus(ctx, "alice", "hello", sha, report)
		check(err)
		fmt.Println(status.GetID() > 0, status.GetState(), status.GetContext(), status.GetCreator().GetLogin())
	}
	options := &github.ListOptions{PerPage: 1}
	for {
		statuses, response, err := client.Repositories.ListStatuses(ctx, "alice", "hello", "main", options)
		check(err)
		for _, status := range statuses {
			fmt.Print(status.GetContext(), " by ", status.Creator.GetLogin(), " ")
		}
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	fmt.Println()
	combined, _, err := client.Repositories.GetCombinedStatus(ctx, "alice", "hello", "main", nil)
	check(err)
	fmt.Println(combined.GetState(), combined.GetTotalCount(), "alice/hello")
	branches, _, err := client.Repositories.ListBranches(ctx, "alice", "hello", nil)
	check(err)
	branch, _, err := client.Repositories.GetBranch(ctx, "alice", "hello", "main", true)
	check(err)
	ref, _, err := client.Git.GetRef(ctx, "alice", "hello", "heads/main")
	check(err)
	tags, _, err := client.Repositories.ListTags(ctx, "alice", "hello", nil)
	check(err)
	fmt.Println(len(branches), branch.GetCommit().GetSHA() == sha, ref.Object.GetSHA() == sha, len(tags))
	report := &github.RepoStatus{State: github.String("success")}
	_, response, err := client.Repositories.CreateStatus(ctx, "alice", "hello", strings.Repeat("e", 40), report)
	fmt.Println(response.StatusCode, err.(*github.ErrorResponse).Message)
}
`

const GITLAB = `package main

import (
	"fmt"
	"os"

	"github.com/xanzy/go-gitlab"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	url, token, sha := os.Args[1], os.Args[2], os.Args[3]
	client, err := gitlab.NewClient(token, gitlab.WithBaseURL(url))
	check(err)
	for number := 0; number < 3; number++ {
		name := fmt.Sprintf("check-%d", number)
		options := &gitlab.SetCommitStatusOptions{State: gitlab.Failed, Name: &name}
		status, _, err := client.Commits.SetCommitStatus("alice/hello", sha, options)
		check(err)
		fmt.Println(status.ID > 0, status.Status, status.Name, status.Ref, status.Author.Username)
	}
	options := &gitlab.GetCommitStatusesOptions{ListOptions: gitlab.ListOptions{PerPage: 1}}
	for {
		statuses, response, err := client.Commits.GetCommitStatuses("alice/hello", sha, options)
		check(err)
		for _, status := range statuses {
			fmt.Print(status.Name, " by ", status.Author.Name, " ")
		}
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	fmt.Println()
	project, _, err := client.Projects.GetProject("alice/hello", nil)
	check(err)
	user, _, err := client.Users.CurrentUser()
	check(err)
	fmt.Println(project.PathWithNamespace, user.Username)
	branches, _, err := client.Branches.ListBranches("alice/hello", nil)
	check(err)
	branch, _, err := client.Branches.GetBranch("alice/hello", "main")
	check(err)
	tags, _, err := client.Tags.ListTags("alice/hello", nil)
	check(err)
	fmt.Println(len(branches), branch.Commit.ID == sha, branch.Default, branch.Protected, len(tags))
	_, response, _ := client.Projects.GetProject(7, nil)
	fmt.Println(response.StatusCode)
}
`

const noGithub = await missing('golang-go', 'golang-github-google-go-github-dev')
t.test('go-github', { skip: noGithub }, async (t) => {
  t.strictSame(await linesOf(t, GITHUB), [
    'true success check-0 alice',
    'true success check-1 alice',
    'true success check-2 alice',
    'check-2 by alice check-1 by alice check-0 by alice ',
    'success 3 alice/hello',
    '1 true true 0',
    '422 No commit found for SHA: eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  ])
})

const noGitlab = await missing('golang-go', 'golang-github-xanzy-go-gitlab-dev')
t.test('go-gitlab', { skip: noGitlab }, async (t) => {
  t.strictSame(await linesOf(t, GITLAB), [
    'true failed check-0 main alice',
    'true failed check-1 main alice',
    'true failed check-2 main alice',
    'check-2 by alice check-1 by alice check-0 by alice ',
    'alice/hello alice',
    '1 true true false 0',
    '404',
  ])
})

/** What a program says that is run on a commit of a private repository. */
async function linesOf(t: Test, source: string): Promise<string[]> {
  const { service, sha, token } = await hostCommit(t, { private: true })
  writeFileSync(join(service.folder, 'main.go'), source)
  const command = ['go', 'run', 'main.go', service.url, token, sha]
  const { code, stdout, stderr } = await runClient(service.folder, command, goEnvironment)
  t.equal(code, 0, stderr)
  return stdout.trimEnd().split('\n')
}
