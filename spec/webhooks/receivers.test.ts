// Receivers as they are, and as they read: Debian's webhook, what is built on go-github (Flux, Tekton), Jenkins,
// Buildbot, Woodpecker, Zulip.
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/contracts/clock.js'
import { silentLogger } from '../../lib/contracts/logger.js'
import type { Delivery } from '../../lib/contracts/hooks.js'
import { openSending } from '../../lib/webhooks/sending.js'
import { ToldRepositories } from '../../lib/webhooks/told-repositories.js'
import { goEnvironment, runClient } from '../fixtures/debian-client.js'
import {
  addresses,
  branchDelivery,
  hook,
  pingDelivery,
  push,
  pushDelivery,
  status,
  statusDelivery,
} from '../fixtures/deliveries.js'
import { freePort } from '../fixtures/free-port.js'
import { missing } from '../fixtures/program.js'
import { receiver, type Received } from '../fixtures/receiver.js'
import { until } from '../fixtures/within.js'

const noWebhook = await missing('webhook')
const noGo = await missing('golang-go', 'golang-github-google-go-github-dev')

const SHA = 'a'.repeat(40)
const never = new AbortController().signal
const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZg=='

const repositories = new ToldRepositories({ find: async () => undefined }, { defaultBranch: () => 'main' })
const { sender } = openSending(
  { allow: [], secretFile: '/nowhere/at/all/key' },
  { repositories, addresses, clock: systemClock, logger: silentLogger, version: '1.2.3' },
)

const person = { name: 'A U Thor', email: 'author@example.com', seconds: 1_769_860_800 }
const commit = { tree: 'b'.repeat(40), parents: [], author: person, committer: person, message: 'Say hello\n' }

const send = async (delivery: Delivery) => await sender.send(delivery, never)
const to = (url: string, given = SECRET) => hook({ url, secret: { given } })

t.test("Debian's webhook runs a command for what is signed, and for nothing else", { skip: noWebhook }, async (t) => {
  const folder = t.testdir()
  const [port, out] = [await freePort(), join(folder, 'out')]
  const script = join(folder, 'told')
  writeFileSync(script, `#!/bin/sh\nprintf '%s\\n' "$@" > '${out}.new' && mv '${out}.new' '${out}'\n`, { mode: 0o755 })
  const value = (name: string) => ({ source: 'payload', name })
  const is = (match: object) => ({ match })
  const header = (name: string) => ({ source: 'header', name })
  const hooks = [
    {
      id: 'told',
      'execute-command': script,
      'pass-arguments-to-command': ['repository.full_name', 'sha', 'context', 'state', 'branches.0.name'].map(value),
      'trigger-rule-mismatch-http-response-code': 403,
      'trigger-rule': {
        and: [
          is({ type: 'payload-hmac-sha256', secret: SECRET, parameter: header('X-Hub-Signature-256') }),
          is({ type: 'value', value: 'status', parameter: header('X-GitHub-Event') }),
        ],
      },
    },
  ]
  writeFileSync(join(folder, 'hooks.json'), JSON.stringify(hooks))
  const child = spawn('webhook', ['-hooks', join(folder, 'hooks.json'), '-ip', '127.0.0.1', '-port', String(port)], {
    stdio: 'ignore',
  })
  t.teardown(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const url = `http://127.0.0.1:${port}/hooks/told`
  await until(
    async () =>
      await fetch(url.replace('/hooks/told', '/')).then(
        () => true,
        () => false,
      ),
  )
  t.match(await send(statusDelivery({ hook: to(url, 'another secret') })), { kind: 'failed' })
  t.match(await send(branchDelivery({ hook: to(url) })), { kind: 'failed', status: 403 }, 'another event')
  t.notOk(existsSync(out))
  t.match(await send(statusDelivery({ hook: to(url), commit })), { kind: 'ok', status: 200 })
  await until(() => existsSync(out))
  t.equal(readFileSync(out, 'utf8'), `alice/hello\n${SHA}\nci/test\nfailure\nmain\n`)
})

const GO = `package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/google/go-github/github"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := github.ValidatePayload(r, []byte(os.Args[1]))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		event, err := github.ParseWebHook(github.WebHookType(r), payload)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch e := event.(type) {
		case *github.StatusEvent:
			message := e.GetCommit().GetCommit().GetMessage()
			branch, sender := e.Branches[0].GetName(), e.GetSender().GetLogin()
			fmt.Println("status", e.GetName(), e.GetSHA(), e.GetContext(), e.GetState(), branch, sender, message)
		case *github.PingEvent:
			fmt.Println("ping", e.GetHookID() > 0, e.GetHook().GetActive())
		case *github.PushEvent:
			clone, author := e.GetRepo().GetCloneURL(), e.GetHeadCommit().GetAuthor().GetName()
			fmt.Println("push", e.GetRef(), e.GetAfter(), len(e.Commits), clone, e.GetPusher().GetName(), author)
		}
	}))
}
`

t.test(
  "go-github, on which Flux' and Tekton's receivers are built, takes what is signed and reads it",
  { skip: noGo },
  async (t) => {
    const folder = t.testdir({ 'main.go': GO })
    const built = await runClient(folder, ['go', 'build', '-o', 'receiver', 'main.go'], goEnvironment)
    t.equal(built.stderr, '')
    const child = spawn(join(folder, 'receiver'), [SECRET], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    })
    const lines: string[] = []
    const output = createInterface(child.stdout)
    const [port] = (await once(output, 'line')) as [string]
    output.on('line', (line) => lines.push(line))
    const url = `http://127.0.0.1:${port}/`
    t.match(await send(statusDelivery({ hook: to(url, 'another secret') })), { kind: 'failed', status: 400 })
    t.match(await send(statusDelivery({ hook: to(url), commit })), { kind: 'ok' })
    t.match(await send(pingDelivery(to(url))), { kind: 'ok' })
    t.match(await send(pushDelivery({ hook: to(url) })), { kind: 'ok' })
    await until(() => lines.length >= 3)
    t.strictSame(lines, [
      `status alice/hello ${SHA} ci/test failure main ci-agent Say hello`,
      'ping true true',
      `push refs/heads/main ${SHA} 1 https://status.example.com/alice/hello.git alice A U Thor`,
    ])
  },
)

t.test('Jenkins takes what is signed, and finds the jobs of a repository and a pusher', async (t) => {
  for (const header of ['x-hub-signature', 'x-hub-signature-256'] as const) {
    const push = await received(t, async (url) => await send(pushDelivery({ hook: to(url) })))
    t.strictSame(jenkins(push, header), { pusher: 'alice', repository: ['status.example.com', 'alice', 'hello'] })
    const ping = await received(t, async (url) => await send(pingDelivery(to(url))))
    t.match(jenkins(ping, header), { organization: 'https://status.example.com/api/v3/orgs/alice' })
    const told = await received(t, async (url) => await send(statusDelivery({ hook: to(url), commit })))
    t.strictSame(jenkins(told, header), {}, 'nobody in it reads a status')
    t.throws(() => jenkins({ ...told, body: `${told.body} ` }, header), { message: 'Signatures did not match' })
  }
})

t.test(
  'Buildbot makes a change of each commit, of what is new of the last one, and of what is gone none',
  async (t) => {
    const [zeros, old] = ['0'.repeat(40), 'b'.repeat(40)]
    const read = async (members: Parameters<typeof pushDelivery>[0]) => {
      return buildbot(await received(t, async (url) => await send(pushDelivery({ hook: to(url), ...members }))))
    }
    const { head } = pushDelivery()
    if (!head) throw new Error('there is no commit')
    const first = { ...head, id: old, message: 'First\n', added: ['a.txt'], modified: ['b.txt'], removed: ['c.txt'] }
    const of = { author: 'A U Thor <author@example.com>', project: 'alice/hello', branch: 'main', category: null }
    const last = { ...of, revision: SHA, comments: 'Say hello\n', files: [], when: 1_769_860_800_000 }
    t.strictSame(await read({ commits: [first, head], total: 2 }), [
      { ...last, revision: old, comments: 'First\n', files: ['a.txt', 'b.txt', 'c.txt'] },
      last,
    ])
    t.strictSame(await read({ push: push({ before: zeros, ref: 'refs/heads/a/b' }), commits: [], total: 0 }), [
      { ...last, branch: 'a/b' },
    ])
    t.strictSame(await read({ push: push({ before: zeros, ref: 'refs/tags/v1' }), commits: [], total: 0 }), [
      { ...last, branch: 'v1', category: 'tag' },
    ])
    const { head: _, ...gone } = pushDelivery({ push: push({ after: zeros }), commits: [], total: 0 })
    const deleted = await received(t, async (url) => await send({ ...gone, hook: to(url) }))
    t.strictSame(buildbot(deleted), [])
    t.throws(() => buildbot({ ...deleted, body: `${deleted.body} ` }), { message: 'Hash mismatch' })
  },
)

t.test('Woodpecker makes a pipeline of a branch, as of one of Gitea', async (t) => {
  const files = { added: ['a'], modified: ['b'], removed: ['a'] }
  const { head, commits, ...rest } = pushDelivery({ push: push({ sender: 'alice' }), total: 2 })
  if (!head) throw new Error('there is no commit')
  const delivery = { ...rest, commits: [{ ...head, ...files }, ...commits], head: { ...head, added: ['d'] } }
  const told = await received(t, async (url) => await send({ ...delivery, hook: to(url) }))
  const page = 'https://status.example.com'
  t.strictSame(woodpecker(told), {
    repository: ['alice', 'hello', `${page}/alice/hello.git`, 'main'],
    commit: [SHA, 'Say hello\n', 'author@example.com', '2026-01-31T12:00:00Z'],
    branch: 'main',
    author: 'alice',
    link: `${page}/alice/hello/compare/${'b'.repeat(40)}...${SHA}`,
    files: ['a', 'b', 'd'],
  })
  const tag = pushDelivery({ push: push({ ref: 'refs/tags/v1' }) })
  t.equal(woodpecker(await received(t, async (url) => await send({ ...tag, hook: to(url) }))), undefined)
})

t.test("Jenkins' plugin for Gitea finds the branch of a repository, and what became of it", async (t) => {
  const zeros = '0'.repeat(40)
  for (const [members, became] of [
    [{}, 'updated'],
    [{ before: zeros }, 'created'],
    [{ after: zeros }, 'removed'],
  ] as const) {
    const delivery = pushDelivery({ push: push(members) })
    const told = await received(t, async (url) => await send({ ...delivery, hook: to(url) }))
    t.strictSame(jenkinsGitea(told), { became, owner: 'alice', name: 'hello', branch: 'main' })
  }
})

t.test('Zulip says what has come', async (t) => {
  const told = await received(t, async (url) => await send(statusDelivery({ hook: to(url), commit })))
  const page = `https://status.example.com/repos/alice/hello/commits/${SHA}`
  t.strictSame(zulip(told), {
    topic: 'hello',
    text: `[aaaaaaaaaaa](${page}) changed its status to [failure](https://ci.example.com/1).`,
  })
  const unknown = status({ target_url: null })
  const without = await received(t, async (url) => await send(statusDelivery({ hook: to(url), status: unknown })))
  t.equal(zulip(without).text, `[aaaaaaaaaaa](${page}) changed its status to failure.`)
  const ping = await received(t, async (url) => await send(pingDelivery(to(url))))
  t.strictSame(zulip(ping), { topic: 'alice', text: 'GitHub webhook has been successfully configured by root.' })
  const push = await received(t, async (url) => await send(pushDelivery({ hook: to(url) })))
  t.strictSame(zulip(push), {
    topic: 'hello / main',
    text: `git pushed 1 (A U Thor) to main, https://status.example.com/alice/hello/compare/${'b'.repeat(40)}...${SHA}`,
  })
})

/** What a receiver is sent. */
async function received(t: Test, deliver: (url: string) => Promise<unknown>): Promise<Received> {
  const { url, received } = await receiver(t)
  await deliver(`${url}/`)
  const [first] = received
  if (!first) throw new Error('nothing has arrived')
  return first
}

interface Payload {
  readonly repository?: { readonly url: string }
  readonly pusher?: { readonly name: string }
  readonly organization?: { readonly url: string }
}

/** Jenkins' plugin for GitHub: the older ones look at SHA-1. */
function jenkins({ headers, body }: Received, signature: 'x-hub-signature' | 'x-hub-signature-256') {
  if (headers['content-type'] !== 'application/json') throw new Error('Unknown content type')
  const algorithm = signature === 'x-hub-signature' ? 'sha1' : 'sha256'
  const computed = `${algorithm}=${createHmac(algorithm, SECRET).update(body).digest('hex')}`
  if (headers[signature] !== computed) throw new Error('Signatures did not match')
  const payload = JSON.parse(body) as Payload
  if (headers['x-github-event'] === 'ping') return { organization: payload.organization?.url }
  if (headers['x-github-event'] !== 'push') return {}
  const [, host, owner, name] =
    /^https?:\/\/([^/]+)\/([^/]+)\/([^/]+?)(?:\.git|\/)?$/.exec(payload.repository?.url ?? '') ?? []
  return { pusher: payload.pusher?.name, repository: [host, owner, name] }
}

interface Pushed {
  readonly ref: string
  readonly before: string
  readonly after: string
  readonly created: boolean
  readonly deleted: boolean
  readonly commits: readonly PushedCommit[]
  readonly head_commit: PushedCommit | null
  readonly total_commits: number
  readonly compare_url: string
  readonly repository: {
    readonly name: string
    readonly full_name: string
    readonly html_url: string
    readonly clone_url: string
    readonly default_branch: string
    readonly owner: { readonly login: string; readonly username: string }
  }
  readonly sender: { readonly login: string }
}

interface PushedCommit {
  readonly id: string
  readonly message: string
  readonly url: string
  readonly timestamp: string
  readonly author: { readonly name: string; readonly email: string }
  readonly added: readonly string[]
  readonly modified: readonly string[]
  readonly removed: readonly string[]
}

/** Buildbot's hook of GitHub: what it makes changes of. */
function buildbot({ headers, body }: Received) {
  const computed = `sha1=${createHmac('sha1', SECRET).update(body).digest('hex')}`
  if (headers['x-hub-signature'] !== computed) throw new Error('Hash mismatch')
  if (headers['content-type'] !== 'application/json') throw new Error('Unknown content type')
  if (headers['x-github-event'] !== 'push') throw new Error('Unknown event')
  const { ref, created, deleted, commits, head_commit: head, repository } = JSON.parse(body) as Pushed
  const [, kind, branch] = /^refs\/(heads|tags)\/(.+)$/.exec(ref) ?? []
  if (deleted) return []
  if (!head) throw new Error('no message to look for [skip ci] in')
  const told = created || kind === 'tags' ? [head] : commits
  return told.map(({ id, message, timestamp, author, added, modified, removed }) => ({
    author: `${author.name} <${author.email}>`,
    project: repository.full_name,
    branch,
    category: kind === 'tags' ? 'tag' : null,
    revision: id,
    comments: message,
    files: [...added, ...modified, ...removed],
    when: Date.parse(timestamp),
  }))
}

/** Woodpecker's way to read Gitea: of tags it wants another event. */
function woodpecker({ headers, body }: Received) {
  if (headers['x-gitea-event'] !== 'push') throw new Error('unsupported hook type')
  const pushed = JSON.parse(body) as Pushed
  const { ref, after, repository, commits, head_commit: head, sender } = pushed
  if (ref.startsWith('refs/tags/')) return undefined
  if (!head) throw new Error('no commit')
  const files = [...commits, head].flatMap(({ added, modified, removed }) => [...added, ...removed, ...modified])
  return {
    repository: [repository.owner.login, repository.name, repository.clone_url, repository.default_branch],
    commit: [after, head.message, head.author.email, head.timestamp],
    branch: ref.replace(/^refs\/heads\//, ''),
    author: sender.login,
    link: pushed.total_commits <= 1 ? head.url : pushed.compare_url,
    files: [...new Set(files)],
  }
}

/** Jenkins' plugin for Gitea: what has no id before is created, what has none after is removed. */
function jenkinsGitea({ headers, body }: Received) {
  if (headers['x-gitea-event'] !== 'push') throw new Error('another event')
  const { ref, before, after, repository } = JSON.parse(body) as Pushed
  const became = /^0+$/.test(before) ? 'created' : /^0+$/.test(after) ? 'removed' : 'updated'
  const { owner, name } = repository
  return { became, owner: owner.username, name, branch: ref.replace(/^refs\/heads\//, '') }
}

/** Zulip's integration of GitHub: each member that it reads must be there. */
function zulip({ headers, body }: Received): { topic: string; text: string } {
  const root: unknown = JSON.parse(body)
  const at = (...path: (string | number)[]): unknown => {
    let value = root
    for (const name of path) {
      if (typeof value !== 'object' || value === null || !(name in value)) throw new Error(`no ${path.join('.')}`)
      value = Reflect.get(value, name)
    }
    return value
  }
  const text = (...path: (string | number)[]): string => {
    const value = at(...path)
    if (typeof value !== 'string') throw new Error(`${path.join('.')} is no text`)
    return value
  }
  const sender = text('sender', 'login')
  if (headers['x-github-event'] === 'ping')
    return {
      topic: text('organization', 'login'),
      text: `GitHub webhook has been successfully configured by ${sender}.`,
    }
  const repository = text('repository', 'name')
  if (headers['x-github-event'] === 'status') {
    const state = at('target_url') === null ? text('state') : `[${text('state')}](${text('target_url')})`
    const short = text('sha').slice(0, 11)
    return { topic: repository, text: `[${short}](${text('commit', 'html_url')}) changed its status to ${state}.` }
  }
  const branch = text('ref').replace(/^refs\/heads\//, '')
  const commits = at('commits')
  if (!Array.isArray(commits) || typeof at('deleted') !== 'boolean' || typeof at('forced') !== 'boolean')
    throw new Error('no push')
  for (const name of ['id', 'url', 'message']) text('commits', 0, name)
  const by = text('commits', 0, 'author', 'username')
  return {
    topic: `${repository} / ${branch}`,
    text: `${sender} pushed ${commits.length} (${by}) to ${branch}, ${text('compare')}`,
  }
}
