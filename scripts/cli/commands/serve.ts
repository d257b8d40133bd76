import { mkdir } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { settings as list } from '../../../config/settings.js'
import { shellWord } from '../../../lib/admin/shell-word.js'
import type { Settings } from '../../../lib/stand-alone/settings.js'
import { levelFolder, withoutPassword } from '../../../lib/store/address.js'
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
      const { defaultSettings, isDefaultFolder, settingsOf } = await import('../administration/command-settings.js')
      const settings = settingsOf(io, command)
      setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`)
      // From now on: a signal during the start ends the service as orderly as one after it.
      const stopped = new Promise((resolve) => onStopSignal(io, ['SIGTERM', 'SIGINT'], resolve))
      // Only here: to load libgit2 would double the time that every other command takes.
      const { startStandAlone } = await import('../../../lib/stand-alone/stand-alone.js')
      if (isDefaultFolder(settings)) await mkdir(settings.repositories, { recursive: true })
      // Files of the store are its user's alone, whoever may enter its folder.
      io.umask(0o077)
      const script = fileURLToPath(new URL('../../../../scripts/commit-status', import.meta.url))
      const isUsual = isDefaultFolder(settings) && settings.store === defaultSettings().store
      const parts = { command: commandOf(script, settings, isUsual) }
      const service = await retryWhileLocked(async () => await startStandAlone(settings, parts))
      warn(
        io,
        `serving ${service.url} for the repositories in ${settings.repositories}, store ` +
          `${withoutPassword(settings.store)}; ` +
          `next: create a token with ${relative(io.cwd(), script)} token create <user>`,
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

/** What administers this very service from any folder; without a password, which a page must not show. */
function commandOf(script: string, { repositories, store }: Settings, isUsual: boolean): string {
  const places = isUsual || levelFolder(store) === undefined ? {} : { REPOSITORIES: repositories, STORE: store }
  const variables = Object.entries(places).map(([name, value]) => `COMMIT_STATUS_${name}=${shellWord(value)}`)
  return [...variables, shellWord(script)].join(' ')
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
        `  ${environment} (${key})\n      ${meaning}\n      default: ${value instanceof Array ? 'none' : value}`,
    )
    .join('\n')
}
