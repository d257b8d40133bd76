import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { StoreCounts } from '../../lib/store/store.js'
import { administer } from './administration.js'
import { explain } from './help.js'
import { toJson, visible } from './output.js'

export function storeCommand(program: Command): void {
  const store = program.command('store').helpCommand(false).description('check the store, back it up')

  const verify = store
    .command('verify')
    .description('read everything and check every checksum; exit status 1 when something is damaged')
    .option('--json', 'print a JSON object')
    .action(async (options: { json?: true }, command: Command) => {
      const findings = await administer(command, async (administration) => await administration.verifyStore())
      const isSound = findings.damaged === 0 && findings.problems.length === 0
      if (!isSound) process.exitCode = 1
      if (options.json) {
        console.log(toJson(findings))
        return
      }
      for (const problem of findings.problems) console.log(visible(problem))
      for (const key of findings.keys) console.log(`damaged: ${visible(key)}`)
      if (findings.damaged > findings.keys.length) console.log(`and ${findings.damaged - findings.keys.length} more`)
      console.log(`${inWords(findings)}, ${findings.damaged} damaged`)
      if (!isSound) console.error('commit-status: the store is damaged; restore it from a backup')
    })

  explain(verify, { examples: ['commit-status store verify'] })

  const backup = store
    .command('backup')
    .description('copy the store, as it is at one moment, while it is in use or not; the copy is a store')
    .argument('<dir>', 'a folder that is new or empty')
    .action(async (folder: string, _options: unknown, command: Command) => {
      const path = resolve(folder)
      const counts = await administer(command, async (administration) => await administration.backUpStore(path))
      console.log(`${inWords(counts)} copied to ${path}`)
    })
  explain(backup, { examples: ['commit-status store backup /var/backups/commit-status/$(date +%F)'] })
}

function inWords({ statuses, tokens, grants }: StoreCounts): string {
  return `${statuses} statuses, ${tokens} tokens, ${grants} grants`
}
