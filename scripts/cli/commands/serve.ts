import { mkdir } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { settings as list } from '../../../config/settings.js'
import { withoutPassword } from '../../../lib/store/address.js'
import { retryWhileLocked } from '../administration/retry-while-locked.js'
import { onStopSignal } from '../administration/stop-signals.js'
import { explain } from '../terminal/help.js'
import { warn, type Io } from '../terminal/io.js'

export function serveCommand(program: Command, io: Io): void {
  const serve = program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addHelpText('after', ({ error }) =>
      error
        ? ''
        : `\nSettings come from the environment, else from the JSON file, else they are these:\n${settingsHelp()}`,
    )
    .action(async (_options: unknown, command: Command) => {
      const { isDefaultFolder, givenSettings } = await import('../administration/command-settings.js')
      const { explained } = await import('../administration/explained-failure.js')
      const { pastedCommand } = await import('../administration/pasted-command.js')
      const { handedSocket } = await import('../../../lib/stand-alone/handed-socket.js')
      const given = givenSettings(io, command)
      const { settings, file } = given
      setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`)
      // From now on: a signal during the start ends the service as orderly as one after it.
      const stopped = new Promise((resolve) => onStopSignal(io, ['SIGTERM', 'SIGINT'], resolve))
      // Only here: to load libgit2 would double the time that every other command takes.
      const { startStandAlone } = await import('../../../lib/stand-alone/stand-alone.js')
      if (isDefaultFolder(settings)) await mkdir(settings.repositories, { recursive: true })
      // Files of the store are its user's alone, whoever may enter its folder.
      io.umask(0o077)
      const parts = { command: pastedCommand(io, given), handed: handedSocket(io.env, io.pid) }
      const service = await explained(
        io,
        given,
        async () => await retryWhileLocked(async () => await startStandAlone(settings, parts)),
      )
      warn(
        io,
        `serving ${service.url} for the repositories in ${settings.repositories}, store ` +
          `${withoutPassword(settings.store)}${file === undefined ? '' : `, settings ${file}`}; ` +
          `next: create a token with ${parts.command} token create <user>`,
      )
      await stopped
      endAfter(io, settings.limits.closeSeconds + STORE_SECONDS)
      await service.close()
      // What still hangs then is a look-up, on a disk that does not answer: nobody waits for it any more.
      setTimeout(() => io.exit(), LOOK_UP_SECONDS * 1000).unref()
    })
  explain(serve, {
    examples: ['commit-status serve', 'COMMIT_STATUS_PORT=9000 commit-status serve --config /etc/commit-status.json'],
  })
}

/**
 * V8 collects garbage when the memory in use has grown by so much. By itself it lets it grow up to fourfold: 228 MB
 * instead of 156 while lists come and go in the caches, and no less processor time. With 30 that was 126 MB, and a
 * third more processor time.
 */
const GARBAGE_PERCENT = 100

/** How long the store may take to close once the last request has ended. */
const STORE_SECONDS = 10

/** How long look-ups that nobody waits for may take to end once the store is closed. */
const LOOK_UP_SECONDS = 0.5

/** Ends the process although something hangs, a disk above all: what was acknowledged is on disk. */
function endAfter(io: Io, seconds: number): void {
  setTimeout(() => {
    /* c8 ignore next 2 -- it takes a disk that hangs */
    warn(io, `the service did not come to its end within ${seconds} s`)
    io.exit(1)
  }, seconds * 1000).unref()
}

function settingsHelp(): string {
  return list
    .map(
      ({ key, environment, default: value, meaning }) =>
        `  ${environment} (${key})\n      ${meaning}\n      default: ${value.toString() || 'none'}`,
    )
    .join('\n')
}
