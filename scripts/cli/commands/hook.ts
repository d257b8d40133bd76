import { readFile } from 'node:fs/promises'
import { Option, type Command } from 'commander'
import type { ListedHook } from '../../../lib/admin/administration.js'
import { jsonLine } from '../../../lib/admin/ndjson.js'
import { HOOK_EVENTS, type HookAttempt } from '../../../lib/contracts/hooks.js'
import { STATES } from '../../../lib/domain/commit-status.js'
import { errorMessage } from '../../../lib/errors.js'
import { administer } from '../administration/administer.js'
import { hookEffects, noteEffects } from '../administration/effects.js'
import { counted } from '../terminal/counted.js'
import { explain } from '../terminal/help.js'
import { note, printLine, type Io } from '../terminal/io.js'
import { printRecords } from '../terminal/output.js'
import { withProgress } from '../terminal/progress.js'
import { repeated } from '../terminal/repeated.js'
import { timeOf } from '../terminal/time.js'
import { visible } from '../terminal/visible.js'

const RESEND = 'commit-status hook resend'

export function hookCommand(program: Command, io: Io): void {
  const hook = program
    .command('hook')
    .helpCommand(false)
    .description('tell programs, chats and people of statuses and pushes: create, list, test and delete webhooks')
  createCommand(hook, io)
  listCommands(hook, io)
  changeCommands(hook, io)
}

function createCommand(hook: Command, io: Io): void {
  const create = hook
    .command('create')
    .description('create a webhook; its secret is printed once, on the last line')
    .argument('<on>', 'owner/repo, owner/* or *')
    .argument('<url>', 'http or https, or mailto: and addresses')
    .addOption(new Option('--format <name>', 'how it is written').choices(['github', 'chat', 'text']).default('github'))
    .addOption(new Option('--events <event>', 'what is told; several times').choices(HOOK_EVENTS).argParser(repeated))
    .option('--contexts <pattern>', 'only these contexts, * for any characters; several times', repeated)
    .addOption(
      new Option('--states <state>', 'only statuses in this state; several times').choices(STATES).argParser(repeated),
    )
    .option('--branches <pattern>', 'only what is the tip of these branches; several times', repeated)
    .option('--secret-file <file>', 'the secret that the receiver dictates; none is made then')
    .option('--json', 'print it as JSON')
    .action(
      async (
        on: string,
        url: string,
        options: {
          format: string
          events?: string[]
          contexts?: string[]
          states?: string[]
          branches?: string[]
          secretFile?: string
          json?: true
        },
        command: Command,
      ) => {
        const { json, secretFile, ...fields } = options
        const secret = secretFile === undefined ? {} : { secret: await secretIn(command, secretFile) }
        const request = { on, url, ...fields, ...secret }
        await administer(
          io,
          command,
          async (administration, by) => {
            const made = await administration.createHook(request, by)
            const { secret } = made
            const words = `Hook ${made.id} on ${made.on} to ${visible(made.receiver)}.`
            const shown = secret === null ? words : `${words} Its secret is shown this once:\n${secret}`
            printLine(io, json ? jsonLine(made) : shown)
            await noteEffects(io, async () => await hookEffects(administration, on))
          },
          'made',
        )
      },
    )
  explain(create, {
    more: [
      'Without --events a webhook is told of each status, and a mail of branches that break and that are fixed: ' +
        'broken is a branch whose tip has failed after one that had not, fixed the other way round; push is told of ' +
        'branches and tags that were pushed, with --branches of these branches alone.',
      'An address may be a secret of its own: lists and logs show its host alone.',
    ],
    examples: [
      'commit-status hook create alice/hello https://ci.example.com/hook',
      "commit-status hook create 'alice/*' https://chat.example.com/hooks/abc --format chat --events broken",
      "commit-status hook create '*' https://ntfy.example.com/builds --format text --states failure --states error",
    ],
  })
}

function listCommands(hook: Command, io: Io): void {
  const list = hook
    .command('list')
    .description('list webhooks, and how they do')
    .argument('[on]', 'only those on exactly this')
    .option('--json', 'print a JSON object for each')
    .action(async (on: string | undefined, options: { json?: true }, command: Command) => {
      const hooks = await administer(io, command, async (administration) => await administration.listHooks(on ?? null))
      printRecords(
        io,
        hooks,
        {
          ID: ({ id }) => id,
          ON: (found) => found.on,
          RECEIVER: ({ receiver }) => receiver,
          FORMAT: ({ format }) => format,
          EVENTS: ({ events }) => events.join(','),
          STATE: stateOf,
          WAITING: ({ waiting }) => String(waiting),
          ONLY: onlyOf,
        },
        options.json,
      )
    })
  explain(list, {
    more: [
      'STATE is active, paused, failing with the time since when, or stopped with the reason; WAITING, how many ' +
        'deliveries wait.',
    ],
    examples: ['commit-status hook list', 'commit-status hook list --json | jq -r \'select(.state == "stopped").id\''],
  })

  const log = hook
    .command('log')
    .description('show the latest deliveries to a webhook, the latest first')
    .argument('<id>', 'as `hook list` shows it')
    .option('--json', 'print a JSON object for each')
    .action(async (id: string, options: { json?: true }, command: Command) => {
      const attempts = await administer(io, command, async (administration) => await administration.listDeliveries(id))
      printAttempts(io, attempts, options.json)
    })
  explain(log, {
    more: ['These are the latest 20 since the service was started; without it, the last one that was written down.'],
    examples: ['commit-status hook log 0123456789ab'],
  })

  const test = hook
    .command('test')
    .description('send a ping to a webhook, and show what becomes of it')
    .argument('<id>', 'as `hook list` shows it')
    .option('--json', 'print it as JSON')
    .action(async (id: string, options: { json?: true }, command: Command) => {
      const attempt = await administer(io, command, async (administration) => await administration.testHook(id))
      printAttempts(io, [attempt], options.json)
      if (attempt.result !== 'ok') io.exitCode = 1
    })
  explain(test, {
    more: ['The exit status is 1 when it was not taken.'],
    examples: ['commit-status hook test 0123456789ab'],
  })
}

function changeCommands(hook: Command, io: Io): void {
  const remove = hook
    .command('delete')
    .description('delete a webhook, and what waits for it')
    .argument('<id>', 'as `hook list` shows it')
    .action(async (id: string, _options: unknown, command: Command) => {
      await administer(io, command, async (administration, by) => await administration.deleteHook(id, by))
    })
  explain(remove, { examples: ['commit-status hook delete 0123456789ab'] })

  const pause = hook
    .command('pause')
    .description('keep back what is for a webhook until it is resumed')
    .argument('<id>', 'as `hook list` shows it')
    .action(async (id: string, _options: unknown, command: Command) => {
      await administer(io, command, async (administration, by) => await administration.pauseHook(id, by))
    })
  explain(pause, {
    more: ['One for which more than 10,000 deliveries wait is stopped.'],
    examples: ['commit-status hook pause 0123456789ab'],
  })

  const resume = hook
    .command('resume')
    .description('go on with a webhook that was paused or stopped, or try one that fails at once')
    .argument('<id>', 'as `hook list` shows it')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { behind_since: since, events } = await administer(
        io,
        command,
        async (administration, by) => await administration.resumeHook(id, by),
      )
      if (since === undefined) return
      note(io, `nothing of ${since} and later was kept: ${RESEND} ${id} --since ${since}`)
      if (events.includes('push')) note(io, 'that makes no pushes again: start by hand what they should have started')
    })
  explain(resume, { examples: ['commit-status hook resume 0123456789ab'] })

  const resend = hook
    .command('resend')
    .description('make deliveries anew, of the statuses as they are')
    .argument('<id>', 'as `hook list` shows it')
    .requiredOption('--since <when>', 'of statuses updated since: 30m, 12h, 3d, or an ISO 8601 time', (text: string) =>
      timeOf(text, 'ago'),
    )
    .action(async (id: string, { since }: { since: string }, command: Command) => {
      const { deliveries, since: left } = await administer(
        io,
        command,
        async (administration, by) => await withProgress(io, administration.resendDeliveries(id, since, by)),
      )
      printLine(io, counted(deliveries, 'delivery', 'deliveries'))
      if (left !== undefined) note(io, `more is left: once these are told, ${RESEND} ${id} --since ${left}`)
    })
  explain(resend, {
    more: [
      'A status that is still to be delivered is not delivered twice. The oldest are made first, up to 5,000 that',
      'wait; where more is left, it says where to go on once these are told.',
    ],
    examples: ['commit-status hook resend 0123456789ab --since 3d'],
  })

  const rotate = hook
    .command('rotate')
    .description('give a webhook another secret, which is printed once')
    .argument('<id>', 'as `hook list` shows it')
    .option('--secret-file <file>', 'the secret that the receiver dictates')
    .action(async (id: string, { secretFile }: { secretFile?: string }, command: Command) => {
      const given = secretFile === undefined ? null : await secretIn(command, secretFile)
      const { secret } = await administer(
        io,
        command,
        async (administration, by) => await administration.rotateSecret(id, given, by),
      )
      if (secret !== null) printLine(io, secret)
    })
  explain(rotate, {
    more: [
      'For a day the signatures of Standard Webhooks are good with the one before, too; those of GitHub and Gitea ' +
        'have room for one.',
    ],
    examples: ['commit-status hook rotate 0123456789ab'],
  })
}

function printAttempts(io: Io, attempts: readonly HookAttempt[], json: boolean | undefined): void {
  printRecords(
    io,
    attempts,
    {
      TIME: ({ at }) => at,
      EVENT: ({ event }) => event,
      RESULT: ({ result }) => result,
      STATUS: ({ status }) => String(status ?? '-'),
      MS: ({ milliseconds }) => String(milliseconds),
      DELIVERY: ({ delivery }) => delivery,
      REASON: ({ reason }) => reason,
    },
    json,
  )
}

function stateOf({ state, failing_since, stopped_because }: ListedHook): string {
  if (state === 'stopped') return `stopped: ${stopped_because}`
  return failing_since === undefined ? state : `failing since ${failing_since}`
}

function onlyOf({ contexts, states, branches }: ListedHook): string {
  const all = Object.entries({ contexts, states, branches })
  return all.flatMap(([name, list]) => (list ? `${name}: ${list.join(' ')}` : [])).join('; ')
}

/** What a file holds, without the end of its line. */
async function secretIn(command: Command, file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '')
  } catch (error) {
    return command.error(`error: the secret cannot be read: ${errorMessage(error)}`)
  }
}
