import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inTurn } from './comparison.js'
import { fill, makeRepositoryOf } from './data.js'
import { Load } from './load.js'
import { report, tokenOf } from './place.js'
import { command, ServerProcess } from './processes.js'
import { copyStore } from './services.js'
import { ended, type Case, type Ending, type Row, type Setting } from './setting.js'

/** Each with one context: fewer than may wait for a hook. */
const COMMITS = 1_000

/** What a service has, and how many times what one without webhooks takes a report may take there. */
const services = [
  { name: 'none', hooks: [] },
  {
    name: 'that match none',
    hooks: [
      ['--contexts', 'other/*'],
      ['--states', 'pending'],
    ],
    most: 1.05,
  },
  // Nobody listens at that port: all waits.
  { name: 'that match and wait', hooks: [[]], receiver: 'http://127.0.0.1:9/', most: 1.2 },
  { name: 'that match and are delivered', hooks: [[]], most: 1.2 },
] as const

/** What a report costs where there are webhooks, delivered meanwhile, beside one where there are none. */
export const webhooksCase: Case = {
  name: 'webhooks',
  async run(setting) {
    return await ended(async (ending) => await measure(setting, ending))
  },
}

async function measure(setting: Setting, ending: Ending): Promise<Row[]> {
  const { folder } = setting
  const place = { repositories: join(folder, 'repositories-webhooks'), store: join(folder, 'store-webhooks') }
  for (const path of Object.values(place)) rmSync(path, { recursive: true, force: true })
  const { commits } = await makeRepositoryOf(place.repositories, 'alice/hello', COMMITS)
  await fill(place.store, ['alice/hello'], commits, () => undefined)
  const token = await tokenOf(place, 'alice')
  const load = new Load(
    join(folder, 'requests-webhooks'),
    commits.map((sha, index) => report(sha, index)),
    { Authorization: `Bearer ${token}` },
  )
  const taking = await receiving(ending)
  const secretFile = join(folder, 'webhooks-secret')
  writeFileSync(secretFile, 'dictated-by-the-receiver\n')
  const loaded = []
  for (const [index, { hooks, ...service }] of services.entries()) {
    const receiver = 'receiver' in service ? service.receiver : taking
    const own = { ...place, store: `${place.store}-${index}` }
    copyStore(place.store, own.store)
    for (const more of hooks)
      await command(own, 'hook', 'create', 'alice/hello', receiver, '--secret-file', secretFile, ...more)
    const server = await ServerProcess.service(own)
    ending.teardown(async () => await server.end())
    loaded.push({ server, load })
  }
  const rounds = await inTurn(setting, loaded)
  return services.flatMap((service, index): Row[] => {
    if (!('most' in service)) return []
    const ratio = rounds.ratio(index, 0)
    return [
      {
        name: `report, webhooks ${service.name}, against without`,
        processor: { ours: rounds.of(index, 'processor'), beside: rounds.of(0, 'processor') },
        ours: rounds.of(index, 'perSecond'),
        ratio,
        p50: rounds.of(index, 'p50'),
        p99: rounds.of(index, 'p99'),
        goal: `≤ ${service.most} times`,
        reached: ratio <= service.most,
      },
    ]
  })
}

/** The address of one that takes everything. */
async function receiving({ teardown }: Ending): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
