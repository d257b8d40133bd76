import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import type { Place } from '../bench/data.js'
import { command, ServerProcess } from '../bench/processes.js'
import { git, makeCommit, makeRepositoryWithCommit } from '../fixtures/git.js'
import { clients, type Client } from './clients.js'
import { build, call, missingFor } from './toolchains.js'

// Runs clients as their makers publish them, or those that are named, against a service: see spec/README.md.

/** What came of a client. */
interface Row {
  readonly ok: number
  readonly failed: number
  readonly skipped?: string
}

const { values, positionals: names } = parseArgs({
  options: { folder: { type: 'string', default: fileURLToPath(new URL('../../build/clients', import.meta.url)) } },
  allowPositionals: true,
})
const unknown = names.filter((name) => !clients.some((client) => client.name === name))
if (unknown.length > 0) {
  console.error(`no such client: ${unknown.join(', ')}; there are ${clients.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'clients-'))
const place = { repositories: join(folder, 'repositories'), store: join(folder, 'store') }
mkdirSync(place.repositories)
const table = new Table({
  head: ['client', 'version', 'API', 'language', 'ok', 'failed', 'seconds', ''],
  colAligns: ['left', 'left', 'left', 'left', 'right', 'right', 'right', 'left'],
  style: { head: [], border: [] },
})
const service = await ServerProcess.service(place, { COMMIT_STATUS_GITEA_HOSTS: 'localhost' })
try {
  const token = (await command(place, 'token', 'create', 'alice')).split('\n').at(-1) ?? ''
  const given = {
    STATUS_URL: service.url,
    STATUS_GITEA_HOST: service.url.replace('127.0.0.1', 'localhost'),
    STATUS_TOKEN: token,
  }
  for (const client of clients.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const begun = performance.now()
    const { ok, failed, skipped } = await outcomeOf(client, place, given)
    if (failed > 0) process.exitCode = 1
    const { name, version, api, language } = client
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    const numbers = skipped === undefined ? [ok, failed, seconds] : ['', '', '']
    table.push([name, version, api, language, ...numbers, skipped === undefined ? '' : `skipped: ${skipped}`])
  }
} finally {
  await service.end()
  rmSync(folder, { recursive: true, force: true })
}
console.log(table.toString())

/** Builds a client, has it call the service on a repository of its own, and says each call. */
async function outcomeOf(client: Client, { repositories }: Place, service: Record<string, string>): Promise<Row> {
  const missing = await missingFor(client.language)
  if (missing !== undefined) return { ok: 0, failed: 0, skipped: missing }
  console.log(`${client.name} ${client.version}`)
  const cache = resolve(values.folder, client.name)
  const reason = await build(client, cache)
  if (reason !== undefined) {
    console.log(indented(`FAIL build:\n${reason}`))
    return { ok: 0, failed: 1 }
  }
  const repository = `alice/${client.name}`
  const sha = await makePublicRepository(repositories, repository)
  const given = { ...service, STATUS_REPOSITORY: repository, STATUS_SHA: sha }
  const { code, output } = await call(client, cache, given)
  const [ok, failed] = [/^ok /gm, /^FAIL /gm].map((said) => output.match(said)?.length ?? 0) as [number, number]
  console.log(indented(output))
  const isWhole = (code === 0) === (failed === 0) && ok > 0
  if (!isWhole) console.log(indented(`FAIL run: it ended with ${code}, after ${ok + failed} calls`))
  return { ok, failed: failed + (isWhole ? 0 : 1) }
}

/**
 * Makes a repository of two commits, with the branches `main` and `feature/one` and the tag `v1.0`.
 * @returns the id of the latest commit, which all of them name but the tag
 */
async function makePublicRepository(folder: string, name: string): Promise<string> {
  const { directory, sha: first } = await makeRepositoryWithCommit(folder, name, { public: true })
  const sha = await makeCommit(directory, 'another commit')
  await git('-C', directory, 'update-ref', 'refs/heads/feature/one', sha)
  await git('-C', directory, 'update-ref', 'refs/tags/v1.0', first)
  return sha
}

function indented(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ')
}
