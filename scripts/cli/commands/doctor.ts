import type { Command } from 'commander'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { levelFolder } from '../../../lib/store/address.js'
import type { Finding } from '../doctor/findings.js'
import { explain } from '../terminal/help.js'
import { printLine, type Io } from '../terminal/io.js'

/** Looks at all that a service needs, and changes nothing. */
export function doctorCommand(program: Command, io: Io): void {
  const doctor = program
    .command('doctor')
    .description('look at settings, folders, store, disk, programs, address and webhooks, and say what is wrong')
    .option('--json', 'print a JSON object for each finding')
    .action(async ({ json }: { json?: true }, command: Command) => {
      // Only here: no other command loads all of it.
      const [{ givenSettings }, { printFinding, wrong }, machine, { rights }, service, { webhooks }] =
        await Promise.all([
          import('../administration/command-settings.js'),
          import('../doctor/findings.js'),
          import('../doctor/machine.js'),
          import('../doctor/rights.js'),
          import('../doctor/service.js'),
          import('../doctor/webhooks.js'),
        ])
      const say = (findings: readonly Finding[]): void => {
        if (findings.some(({ level }) => level === 'fail')) io.exitCode = 1
        for (const finding of findings)
          if (json) printLine(io, jsonLine(finding))
          else printFinding(io, finding)
      }
      const { findings, git } = await machine.programs()
      say(findings)
      let given
      try {
        given = givenSettings(io, command)
      } catch (error) {
        say([wrong('settings', error instanceof Error ? error.message : String(error))])
        return
      }
      const { settings } = given
      say(service.sources(given))
      say(await machine.repositories(settings, git))
      say(await rights(settings))
      say(await service.store(settings.store))
      const folders = new Set([settings.repositories, levelFolder(settings.store) ?? settings.repositories])
      for (const folder of folders) say(await machine.freeSpace(folder))
      say(await service.addresses(settings))
      say(await webhooks(settings))
    })
  explain(doctor, {
    more: [
      'ok is well, warn may be meant so, fail is wrong: then the exit status is 1. Nothing is changed, and no secret ' +
        'is shown. Run it as the user of the service: what another one may read is another matter.',
    ],
    examples: ['commit-status doctor'],
  })
}
