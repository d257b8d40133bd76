import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { CommandPlace } from '../fixtures/command.js'
import { missing } from '../fixtures/program.js'

t.test(
  'A certificate that is not trusted ends a command at once, with the way out',
  { skip: await missing('openssl') },
  async (t) => {
    const place = new CommandPlace(t.testdir())
    const [key, cert] = [join(place.folder, 'key.pem'), join(place.folder, 'cert.pem')]
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
    execFileSync('openssl', [...request, '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    const answer = JSON.stringify({ state: 'success' })
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
      response.writeHead(201).end(answer)
    }).listen(0, 'localhost')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const environment = { COMMIT_STATUS_URL: `https://localhost:${port}`, COMMIT_STATUS_TOKEN: 'cst_x' }
    const commit = ['alice/hello', '0'.repeat(40)]
    const told = new RegExp(
      `^commit-status: https://localhost:${port} cannot be reached: self-signed certificate; if an internal CA has ` +
        'signed it, name its certificate with NODE_EXTRA_CA_CERTS=/path/of/ca.pem\\n$',
    )
    for (const args of [
      ['status', 'report', ...commit, '--state', 'success'],
      ['status', 'wait', ...commit],
      ['follow', 'alice/hello'],
    ])
      t.match(await place.run(args, { environment }), { status: 3, stdout: '', stderr: told })
    const trusting = { ...environment, NODE_EXTRA_CA_CERTS: cert }
    const reported = await place.runProcess(['status', 'report', ...commit, '--state', 'success'], {
      environment: trusting,
    })
    t.match(reported, { status: 0, stderr: '' }, 'which works')
  },
)
