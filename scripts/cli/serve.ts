import { mkdir } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { startStandAlone } from '../../lib/stand-alone.js'
import { settings as list } from '../../config/settings.js'
import { isDefaultFolder, settingsOf } from './settings.js'

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addHelpText('after', `\nSettings come from the environment, or a JSON file:\n${settingsHelp()}`)
    .action(async (_options: unknown, command: Command) => {
      const settings = settingsOf(command)
      if (isDefaultFolder(settings)) await mkdir(settings.repositories, { recursive: true })
      const service = await startStandAlone(settings)
      const script = fileURLToPath(new URL('../../../scripts/commit-status', import.meta.url))
      console.error(
        `commit-status: serving ${service.url} for the repositories in ${settings.repositories}, store ${settings.store}; ` +
          `next: create a token with ${relative('', script)} token create <user>`,
      )
      await signal()
      await service.close()
    })
}

/** Resolves at the first signal to stop; the next one ends the process at once, as the system does by itself. */
async function signal(): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = () => {
      process.off('SIGTERM', stop).off('SIGINT', stop)
      resolve()
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}

function settingsHelp(): string {
  return list.map(({ environment, meaning }) => `  ${environment.padEnd(42)}${meaning}`).join('\n')
}
