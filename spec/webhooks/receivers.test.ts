// Receivers as they are, and as they read: Debian's webhook, what is built on go-github (Flux, Tekton), Jenkins, Zulip.
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/contracts/clock.js'
import type { Delivery } from '../../lib/contracts/hooks.js'
import { openSending } from '../../lib/webhooks/sending.js'
import { ToldRepositories } from '../../lib/webhooks/told-repositories.js'
import { goEnvironment, runClient } from '../fixtures/debian-client.js'
import {
  addresses,
  branchDelivery,
  hook,
  pingDelivery,
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
  { repositories, addresses, clock: systemClock, version: '1.2.3' },
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
