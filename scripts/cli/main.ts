import { Command, CommanderError } from 'commander'
import { CommandFailed } from '../../lib/admin/client.js'
import {
  AdministrationError,
  ArgumentError,
  errorMessage,
  failureMessage,
  SettingsError,
  StartError,
  StoreCorrupt,
  StoreUnavailable,
} from '../../lib/errors.js'
import { accessCommand } from './commands/access.js'
import { completionCommand } from './commands/completion.js'
import { doctorCommand } from './commands/doctor.js'
import { followCommand } from './commands/follow.js'
import { gateCommand } from './commands/gate.js'
import { hookCommand } from './commands/hook.js'
import { logCommand } from './commands/log.js'
import { manualCommand } from './commands/manual.js'
import { pushedCommand } from './commands/pushed.js'
import { repoCommand } from './commands/repo.js'
import { serveCommand } from './commands/serve.js'
import { signInCommand } from './commands/sign-in.js'
import { statusCommand } from './commands/status.js'
import { storeCommand } from './commands/store.js'
import { tokenCommand } from './commands/token.js'
import { ReportRefused, ServiceNotReached } from './clients/report-failure.js'
import { explain } from './terminal/help.js'
import { printLine, warn, type Io } from './terminal/io.js'
import { versionText } from './terminal/version.js'

/** Exit statuses: 0 done, 1 failed, 2 wrong use; 3 of a report, the service was not reached. */
const FAILED = 1
const WRONG_USE = 2
const NOT_REACHED = 3

/** The width of help where there is no terminal. */
const USUAL_COLUMNS = 80

/** Runs one command line and sets the exit status. Never rejects. @param io of a process, this one unless given */
export async function main(args: readonly string[], io: Io = process): Promise<void> {
  io.stdout.on('error', (error: NodeJS.ErrnoException) => {
    endWithoutOutput(io, error)
  })
  // Who does not want to hear what goes wrong gets the exit status.
  io.stderr.on('error', () => undefined)
  const program = new Command('commit-status')
    .description('Records and serves check results (commit statuses) for the bare repositories of a git server.')
    .option('--config <file>', 'settings file (also COMMIT_STATUS_CONFIG)')
    .option('--version', 'print the version')
    .on('option:version', () => {
      printLine(io, versionText())
      throw new CommanderError(0, 'commander.version', '')
    })
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? USUAL_COLUMNS,
      getErrHelpWidth: () => io.stderr.columns ?? USUAL_COLUMNS,
    })
    .exitOverride()
  // Carried out by scripts/commit-status, since this program may not be there before.
  explain(program.command('set-up').description('install and build what is missing, libgit2 above all'), {
    examples: ['commit-status set-up'],
  })
  for (const add of [
    serveCommand,
    tokenCommand,
    accessCommand,
    hookCommand,
    repoCommand,
    statusCommand,
    storeCommand,
    gateCommand,
    pushedCommand,
    logCommand,
    followCommand,
    signInCommand,
    doctorCommand,
    completionCommand,
    manualCommand,
  ])
    add(program, io, args)
  pointToHelp(program, 'commit-status')
  try {
    await program.parseAsync(args[0] === 'help' ? helpArguments(program, args.slice(1)) : args, { from: 'user' })
  } catch (error) {
    io.exitCode = exitStatus(error)
    if (!(error instanceof CommanderError)) warn(io, describeError(error))
  }
}

/** Ends errors of use with one line on where more is said. */
function pointToHelp(command: Command, name: string): void {
  command.showHelpAfterError(`see ${name} --help`)
  for (const inner of command.commands) pointToHelp(inner, `${name} ${inner.name()}`)
}

/** What `help token create` stands for; up to the first name that is none, for the error that comes of it. */
function helpArguments(program: Command, names: readonly string[]): string[] {
  let at = program
  for (const [index, name] of names.entries()) {
    const inner = at.commands.find((command) => command.name() === name)
    if (!inner) return at.commands.length > 0 ? names.slice(0, index + 1) : [...names.slice(0, index), '--help']
    at = inner
  }
  return [...names, '--help']
}

function exitStatus(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USE
  if (error instanceof ServiceNotReached) return NOT_REACHED
  return error instanceof SettingsError || error instanceof ArgumentError ? WRONG_USE : FAILED
}

/** What comes of wrong use or of the machine, and is told in a sentence. */
const EXPECTED = [
  AdministrationError,
  CommandFailed,
  ReportRefused,
  ServiceNotReached,
  SettingsError,
  StartError,
  StoreCorrupt,
  StoreUnavailable,
]

/** Only a fault of ours shows where it happened. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const expected = EXPECTED.some((kind) => error instanceof kind) || 'code' in error
  return expected ? failureMessage(error) : (error.stack ?? error.message)
}

/** Quietly when the reader of our output has seen enough (`| head`). */
function endWithoutOutput(io: Io, error: NodeJS.ErrnoException): void {
  const isEnough = error.code === 'EPIPE'
  if (!isEnough) warn(io, `the output cannot be written: ${errorMessage(error)}`)
  io.exit(isEnough ? undefined : FAILED)
}
