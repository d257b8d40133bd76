import { readFile, stat } from 'node:fs/promises'
import { GATE_KEYS, type SymbolicRefs } from '../../../lib/domain/gate-rule.js'
import { askForEntries, configurationEntries } from '../../../lib/domain/git-configuration.js'
import { errorMessage } from '../../../lib/errors.js'
import { isRefName } from '../../../lib/git/ref-name.js'
import { patternMatcher } from '../../../lib/domain/verdict/pattern.js'
import { verdictRule } from '../../../lib/domain/verdict/rule.js'
import { hasMore, isToken, serviceAddress } from '../clients/service-address.js'
import { pathIn, type Io } from '../terminal/io.js'
import { askGit, GateError } from './git.js'
import { pushedRepository, type GivenRepository } from './repository.js'
import { namesOf, readSymbolicRefs } from './symbolic-refs.js'

/** What git's configuration says of refs that a pattern matches. */
export interface RefRule {
  /** `*` stands for any characters, as in patterns of contexts. */
  readonly pattern: string
  readonly require: string[]
  readonly by: string[]
  stale?: string
  allowCreate: boolean
  /** What is wrong with it. */
  readonly problems: string[]
}

export interface GateConfiguration extends GivenRepository {
  readonly rules: readonly RefRule[]
  /** None where there are no rules. */
  readonly symbolic: SymbolicRefs
  readonly url?: string
  readonly tokenFile?: string
}

/** All rules that match a ref, as one. */
export interface MergedRule {
  readonly patterns: readonly string[]
  readonly require: readonly string[]
  readonly by: readonly string[]
  readonly stale?: string
  readonly allowCreate: boolean
}

/**
 * As `git config` has it: of the repository, the user and the system, with all that they include.
 * @param refs that are pushed
 * @throws GateError
 */
export async function readConfiguration(io: Io, refs: readonly string[]): Promise<GateConfiguration> {
  const texts: Record<string, string> = {}
  const rules = new Map<string, RefRule>()
  const printed = await askGit(io, ...askForEntries(GATE_KEYS))
  for (const { key, subsection: pattern, name, value } of configurationEntries(printed ?? '')) {
    if (pattern === undefined) {
      if (!['url', 'tokenfile', 'repository', 'repositories', 'topowner'].includes(name))
        throw new GateError(`there is no setting ${key} of the gate`)
      texts[name] = value
      continue
    }
    const rule = rules.get(pattern) ?? { pattern, require: [], by: [], allowCreate: false, problems: [] }
    rules.set(pattern, rule)
    add(rule, name, value)
  }
  const patterns = [...rules.keys()]
  const wrong = patterns.find((pattern) => !canBePushed(pattern))
  if (wrong !== undefined) {
    const why = 'the name of a ref is like refs/heads/main, and only * stands for others'
    throw new GateError(`the rule ${JSON.stringify(wrong)} protects nothing: ${why}`)
  }
  const { url, tokenfile } = texts
  return {
    rules: [...rules.values()],
    symbolic:
      rules.size > 0
        ? await readSymbolicRefs(io, [...refs, ...patterns.filter((pattern) => !pattern.includes('*'))])
        : new Map(),
    ...(url !== undefined && { url }),
    ...(tokenfile !== undefined && { tokenFile: tokenfile }),
    ...givenIn(texts),
  }
}

function givenIn({ repository, repositories, topowner }: Readonly<Record<string, string>>): GivenRepository {
  return {
    ...(repository !== undefined && { repository }),
    ...(repositories !== undefined && { repositories }),
    ...(topowner !== undefined && { topOwner: topowner }),
  }
}

/**
 * What git's configuration says of the repository, whatever the rules of its refs are.
 * @throws GateError
 */
export async function readGivenRepository(io: Io): Promise<GivenRepository> {
  const printed = await askGit(io, ...askForEntries(GATE_KEYS))
  const entries = configurationEntries(printed ?? '').filter(({ subsection }) => subsection === undefined)
  return givenIn(Object.fromEntries(entries.map(({ name, value }) => [name, value])))
}

/** Whether there can be a ref that a pattern matches, and that git lets be pushed: it wants three parts, or more. */
export function canBePushed(pattern: string): boolean {
  const name = pattern.replace(/^\*/, 'refs/*').replaceAll('*', 'x/x')
  return /^refs\/[^/]+\//.test(name) && isRefName(name)
}

/** `git config` gives names of variables in lower case. */
function add(rule: RefRule, name: string, value: string): void {
  if (name === 'require') rule.require.push(value)
  else if (name === 'by') rule.by.push(value)
  else if (name === 'stale') rule.stale = value
  else if (name !== 'allowcreate') rule.problems.push(`there is no ${name} in a rule of the gate`)
  else if (/^(?:true|yes|on|1)$/i.test(value)) rule.allowCreate = true
  else if (/^(?:false|no|off|0|)$/i.test(value)) rule.allowCreate = false
  else rule.problems.push(`allowCreate is true or false, not ${JSON.stringify(value)}`)
}

/**
 * What is asked of a push to a ref; `undefined`: it is not protected. What rules require adds up, and so do the users;
 * a ref may be created only when all of them allow it.
 * @throws GateError when a rule for it is wrong
 */
export function ruleFor(io: Io, ref: string, { rules, symbolic }: GateConfiguration): MergedRule | undefined {
  const refs = namesOf(io, ref, symbolic)
  const matching = rules.filter(({ pattern }) => refs.some(patternMatcher(pattern)))
  if (matching.length === 0) return undefined
  const stale = matching.flatMap((rule) => rule.stale ?? [])
  const added = {
    patterns: matching.map(({ pattern }) => pattern),
    require: [...new Set(matching.flatMap(({ require }) => require))],
    by: [...new Set(matching.flatMap(({ by }) => by))],
    allowCreate: matching.every(({ allowCreate }) => allowCreate),
  }
  const problems = matching.flatMap(({ pattern, problems }) => problems.map((words) => `${pattern}: ${words}`))
  if (problems.length > 0) throw new GateError(problems.join('; '))
  try {
    const lengths = stale.map((text) => ({
      text,
      length: verdictRule({ stale: text }).staleMilliseconds ?? 0,
    }))
    verdictRule({ require: added.require, by: added.by })
    const [shortest] = lengths.sort((one, other) => one.length - other.length)
    return { ...added, ...(shortest && { stale: shortest.text }) }
  } catch (error) {
    throw new GateError(`${added.patterns.join(', ')}: ${errorMessage(error)}`)
  }
}

/**
 * Where to ask, as whom, and about which repository.
 * @param settingsFile of the service
 * @throws GateError
 */
export async function serviceOf(
  io: Io,
  { url: text, tokenFile, ...given }: GateConfiguration,
  settingsFile?: string,
): Promise<{
  url: URL
  token: string
  repository: string
}> {
  if (text === undefined) throw new GateError('commit-status.url is not set: the address of the service')
  const url = serviceAddress(text)
  // Without it: it may hold a password.
  if (!url || hasMore(url)) throw new GateError('commit-status.url must be like https://status.example.com')
  if (tokenFile === undefined) throw new GateError('commit-status.tokenFile is not set: a file with a token in it')
  const token = (await readToken(pathIn(io, tokenFile))).trim()
  if (!isToken(token)) throw new GateError(`what is in ${tokenFile} is no token`)
  return { url, token, repository: await pushedRepository(io, given, settingsFile) }
}

/** Only of a file: from a pipe nothing might ever come, and a process that reads one does not end. */
async function readToken(path: string): Promise<string> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : ''
  } catch (error) {
    throw new GateError(`the token cannot be read: ${errorMessage(error)}`)
  }
}
