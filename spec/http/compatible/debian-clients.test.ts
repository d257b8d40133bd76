// Unmodified clients from Debian, as people point them at a server of their own.
import t, { type Test } from 'tap'
import { runClient, tlsFront } from '../../fixtures/debian-client.js'
import { hostCommit, type HostedCommit } from '../../fixtures/hosted-commit.js'
import { missing } from '../../fixtures/program.js'

const python = '/usr/bin/python3'
const trusting = { private: true, settings: { trustedProxies: ['127.0.0.1', '::1'] } }

/** Runs a script that has the address, a token and the commit in its arguments; resolves to its lines. */
async function scripted(t: Test, hosted: HostedCommit, interpreter: string[], script: string): Promise<string[]> {
  const { service, token, sha } = hosted
  const { stdout, stderr, code } = await runClient(service.folder, [...interpreter, script, service.url, token, sha])
  t.equal(code, 0, stderr)
  return stdout.trimEnd().split('\n')
}

t.test('gh', { skip: await missing('gh', 'openssl') }, async (t) => {
  const { service, sha, token, stored } = await hostCommit(t, trusting)
  const { host, authority } = await tlsFront(t, service.url)
  const environment = {
    GH_HOST: host,
    GH_ENTERPRISE_TOKEN: token,
    SSL_CERT_FILE: authority,
    GH_NO_UPDATE_NOTIFIER: '1',
  }
  const gh = async (...args: string[]) => await runClient(service.folder, ['gh', ...args], environment)
  for (const context of ['a', 'b', 'c']) {
    const { code, stderr } = await gh(
      'api',
      `repos/alice/hello/statuses/${sha}`,
      '-f',
      'state=success',
      '-f',
      `context=${context}`,
    )
    t.equal(code, 0, stderr)
  }
  t.equal((await stored()).length, 3)
  const pages = await gh(
    'api',
    '--paginate',
    'repos/alice/hello/commits/main/statuses?per_page=1',
    '--jq',
    '.[].context',
  )
  t.equal(pages.stdout, 'c\nb\na\n', pages.stderr)
  const creators = await gh('api', 'repos/alice/hello/commits/main/statuses', '--jq', '.[].creator.login')
  t.equal(creators.stdout, 'alice\nalice\nalice\n', creators.stderr)
  t.equal((await gh('api', 'repos/alice/hello/commits/main/status', '--jq', '.state')).stdout, 'success\n')
  const missing = await gh('api', 'repos/alice/missing')
  t.equal(missing.code, 1)
  t.match(missing.stderr, /gh: Not Found \(HTTP 404\)/)
})

t.test('hub', { skip: await missing('hub', 'openssl') }, async (t) => {
  const { service, sha, token, report, directory } = await hostCommit(t, { private: true })
  const { host } = new URL(service.url)
  const script = `set -e
mkdir -p .config
printf '%s:\\n- user: alice\\n  oauth_token: %s\\n  protocol: http\\n' "$1" "$2" > .config/hub
git config --global --add hub.host "$1"
git clone --quiet "$3" checkout
cd checkout
git remote set-url origin "http://$1/alice/hello.git"
hub api "repos/alice/hello/statuses/$4" -F state=pending -F context=from-hub > /dev/null
hub ci-status --verbose HEAD || echo "exit $?"
hub ci-status main || echo "exit $?"`
  await report({ state: 'failure', context: 'build', target_url: 'https://ci.example.com/1' })
  const { stdout, stderr } = await runClient(
    service.folder,
    ['bash', '-c', script, 'bash', host, token, directory, sha],
    {
      GITHUB_HOST: host,
    },
  )
  t.match(stdout, /✖︎\s+build\s+https:\/\/ci\.example\.com\/1\n/, stderr)
  t.match(stdout, /●\s+from-hub/)
  t.match(stdout, /exit 1\nfailure\nexit 1\n$/)
})

t.test('PyGithub', { skip: await missing('python3-github') }, async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const lines = await scripted(
    t,
    hosted,
    [python, '-c'],
    `import sys, github
url, token, sha = sys.argv[1:]
hub = github.Github(base_url=url + '/api/v3', login_or_token=token, per_page=2)
commit = hub.get_repo('alice/hello').get_commit(sha)
for number in range(5):
    status = commit.create_status('success', 'https://ci.example.com/1', 'all well', 'check-%d' % number)
    print(status.id > 0, status.state, status.context, status.created_at.microsecond)
print([status.context for status in commit.get_statuses()])
creator = commit.get_statuses()[0].creator
has_picture = creator.avatar_url.startswith(url)
print(creator.login, creator.type, creator.site_admin, creator.id == hub.get_user().id, has_picture)
print(hub.get_user(creator.login).url == creator.url, creator.name)
combined = commit.get_combined_status()
print(combined.state, combined.total_count, combined.sha == sha, combined.repository.full_name)
print(hub.get_user().login, commit.commit.message, commit.commit.author.date.year > 2000)
try:
    hub.get_repo('alice/missing')
except github.UnknownObjectException as error:
    print(error.status, error.data['message'])
try:
    commit.create_status('bogus')
except github.GithubException as error:
    print(error.status, error.data['errors'][0]['field'])`,
  )
  t.equal(lines[0], 'True success check-0 0')
  t.equal(lines[5], "['check-4', 'check-3', 'check-2', 'check-1', 'check-0']")
  t.strictSame(lines.slice(6, 8), ['alice User False True True', 'True None'])
  t.strictSame(lines.slice(8), ['success 5 True alice/hello', 'alice a commit True', '404 Not Found', '422 state'])
})

t.test('python-gitlab', { skip: await missing('python3-gitlab') }, async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const lines = await scripted(
    t,
    hosted,
    [python, '-W', 'error::UserWarning', '-c'],
    `import sys, gitlab
url, token, sha = sys.argv[1:]
lab = gitlab.Gitlab(url, private_token=token, per_page=2)
lab.auth()
print(lab.user.username, lab.version()[0])
project = lab.projects.get('alice/hello')
commit = lab.projects.get(project.id).commits.get(sha)
for number in range(5):
    commit.statuses.create({'state': 'failed', 'name': 'check-%d' % number, 'description': 'no'})
statuses = commit.statuses.list(iterator=True)
print([status.name for status in statuses], statuses.total)
author = commit.statuses.list(get_all=True)[0].author
print(author['username'], author['state'], author['id'] == lab.user.id, author['web_url'] == lab.user.web_url)
print(commit.title, project.default_branch)
try:
    lab.projects.get('alice/missing')
except gitlab.exceptions.GitlabGetError as error:
    print(error.response_code, error.error_message)`,
  )
  t.strictSame(lines, [
    'alice 17.0.0',
    "['check-4', 'check-3', 'check-2', 'check-1', 'check-0'] 5",
    'alice active True True',
    'a commit main',
    '404 404 Project Not Found',
  ])
})

t.test('octokit.rb', { skip: await missing('ruby-octokit') }, async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const lines = await scripted(
    t,
    hosted,
    ['/usr/bin/ruby', '-W0', '-e'],
    `require 'octokit'
url, token, sha = ARGV
client = Octokit::Client.new(api_endpoint: url + '/api/v3', access_token: token, auto_paginate: true, per_page: 1)
%w[a b].each { |name| puts client.create_status('alice/hello', sha, 'success', context: name).id.class }
puts client.statuses('alice/hello', 'main').map(&:context).join(' ')
puts client.statuses('alice/hello', 'main').map { |status| status.creator.login }.join(' ')
puts client.combined_status('alice/hello', sha).state, client.user.login
begin
  client.create_status('alice/hello', 'e' * 40, 'success')
rescue Octokit::UnprocessableEntity => error
  puts error.message[/No commit found/]
end`,
  )
  t.strictSame(lines, ['Integer', 'Integer', 'b a', 'alice alice', 'success', 'alice', 'No commit found'])
})

t.test('the gitlab gem', { skip: await missing('ruby-gitlab') }, async (t) => {
  const hosted = await hostCommit(t, { private: true })
  const lines = await scripted(
    t,
    hosted,
    ['/usr/bin/ruby', '-W0', '-e'],
    `require 'gitlab'
url, token, sha = ARGV
client = Gitlab.client(endpoint: url + '/api/v4', private_token: token)
%w[a b c].each { |name| client.update_commit_status('alice/hello', sha, 'canceled', name: name) }
puts client.commit_status('alice/hello', sha, per_page: 1).auto_paginate.map(&:name).join(' ')
puts client.commit_status('alice/hello', sha).map { |status| status.author.username }.join(' ')
puts client.project('alice/hello').path_with_namespace, client.user.username
puts client.commit('alice/hello', 'main').id == sha
begin
  client.update_commit_status('alice/hello', sha, 'bogus')
rescue Gitlab::Error::BadRequest => error
  puts error.message[/state must be one of/]
end`,
  )
  t.strictSame(lines, ['c b a', 'alice alice alice', 'alice/hello', 'alice', 'true', 'state must be one of'])
})
