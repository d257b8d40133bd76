import { Argument, type Command } from 'commander'
import { explain } from '../terminal/help.js'
import type { Io } from '../terminal/io.js'
import { print } from '../terminal/output.js'

/** Prints the manual, which is made of the commands and the table of settings themselves. */
export function manualCommand(program: Command, io: Io): void {
  const manual = program
    .command('manual')
    .description('print a page of the manual, for man')
    .addArgument(new Argument('[page]').choices(PAGES).default('commit-status.1'))
    .action(async (page: (typeof PAGES)[number]) => {
      await print(io, await SOURCES[page](program, dateOf(io)))
    })
  explain(manual, {
    more: ['Its date is that of SOURCE_DATE_EPOCH, or today.'],
    examples: ['commit-status manual | man -l -', 'commit-status manual commit-status.json.5 | man -l -'],
  })
}

const PAGES = ['commit-status.1', 'commit-status.json.5'] as const

/** Only at their use: no other command needs them. */
const SOURCES = {
  'commit-status.1': async (program, date) => (await import('../manual/commands-page.js')).commandsPage(program, date),
  'commit-status.json.5': async (_, date) => (await import('../manual/settings-page.js')).settingsPage(date),
} satisfies Record<(typeof PAGES)[number], (program: Command, date: Date) => Promise<string>>

/** A package that is built twice has the same bytes. */
function dateOf({ env }: Io): Date {
  const seconds = env['SOURCE_DATE_EPOCH']
  return seconds === undefined ? new Date() : new Date(Number(seconds) * 1000)
}
