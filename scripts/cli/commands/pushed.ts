import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { explain } from '../terminal/help.js'
import type { Io } from '../terminal/io.js'
import { addressed, checkedUrl, givenToken, type AddressOptions } from './address-options.js'

/** The hook of a git server that starts what webhooks start. */
export function pushedCommand(program: Command, io: Io): void {
  const pushed = addressed(program.command('pushed'))
    .description('as a post-receive hook of git: have webhooks told of what was pushed')
    .option('--pusher <user>', 'who pushed; default: GL_USER, REMOTE_USER, else the user that this runs as')
    .action(async ({ pusher, url, tokenFile }: { pusher?: string } & AddressOptions, command: Command) => {
      // What no other command needs.
      const [{ handOver }, { parseChanges }, { pushedRepository }, { readGivenRepository }] = await Promise.all([
        import('../pushed/hand-over.js'),
        import('../gate/gate.js'),
        import('../gate/repository.js'),
        import('../gate/rules.js'),
      ])
      const { currentUser } = await import('../administration/change-log.js')
      const { config } = command.optsWithGlobals<{ config?: string }>()
      const pushers = [pusher, io.env['GL_USER'], io.env['REMOTE_USER'], currentUser().user]
      const isKept = await handOver(io, parseChanges(await text(io.stdin)), pushers, async () => {
        const repository = await pushedRepository(io, await readGivenRepository(io), config)
        const token = await givenToken(io, command, tokenFile)
        if (token !== undefined) {
          const { httpWay } = await import('../pushed/http-way.js')
          return httpWay({ url: await checkedUrl(io, command, url), token, repository })
        }
        const { localWay } = await import('../pushed/local-way.js')
        return localWay(io, command, repository)
      })
      // At once: something may hang.
      io.exit(isKept ? 0 : LOST)
    })
  explain(pushed, {
    more: [
      'It reads the lines that git gives a post-receive hook, and hands branches and tags over through the socket of ' +
        "the running service, so it runs as the service's user; or over HTTP, with a token that may report on the " +
        'repository and is not for some contexts alone. Webhooks with --events push are told of them.',
      'Which repository it is, it finds as the gate does.',
      'It takes 5 seconds at the most, and stops no push. Where the service is not reached, what was pushed waits in ' +
        'the repository, in commit-status-pushed, and goes with the next push, or with the next time that this runs: ' +
        'up to 1,000 pushes. Exit status: 0 handed over, or it waits; 1 neither.',
    ],
    examples: [
      'exec commit-status pushed                          # hooks/post-receive',
      'exec commit-status pushed --url http://127.0.0.1:8080 --token-file /etc/commit-status/pushes.token',
      'cd /srv/git/alice/hello.git && commit-status pushed < /dev/null   # what waits',
    ],
  })
}

const LOST = 1
