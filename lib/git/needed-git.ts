import { join } from 'node:path'
import type { Logger } from '../contracts/logger.js'
import { errorMessage } from '../errors.js'
import { readSmallFile } from './regular-file.js'

/** The first git that knows an extension of the repository format (git-config(1), `extensions.*`). */
const SINCE: ReadonlyMap<string, string> = new Map([
  ['noop', '2.7'],
  ['preciousobjects', '2.7'],
  ['partialclone', '2.17'],
  ['worktreeconfig', '2.20'],
  ['objectformat', '2.29'],
  ['compatobjectformat', '2.45'],
  ['refstorage', '2.45'],
  ['relativeworktrees', '2.48'],
])

const MAX_CONFIG_BYTES = 64 * 1024

/** Repositories that were noted; past that, the first of them is noted again. */
const MAX_NOTED = 1000

/** What takes the latest git of all that a repository has. */
export interface NeededGit {
  /** As `refstorage = reftable`. */
  readonly extension: string
  /** As `2.45`; absent: of none that is known here. */
  readonly version?: string
}

/**
 * Finds what git a repository needs, by its own config; `undefined`: any does.
 * @throws any error that keeps the config from being read
 */
export async function neededGit(directory: string): Promise<NeededGit | undefined> {
  const extensions = extensionsIn(await readSmallFile(join(directory, 'config'), MAX_CONFIG_BYTES))
  const needs = extensions.map(({ name, value }): NeededGit => {
    const version = SINCE.get(name)
    return { extension: `${name} = ${value}`, ...(version !== undefined && { version }) }
  })
  return needs.reduce<NeededGit | undefined>((one, other) => (one && !isLater(other, one) ? one : other), undefined)
}

/** Whether an installed git, by what `git version` prints, is older than the one that is needed. */
export function isTooOld(installed: string, { version }: NeededGit): boolean {
  const [found = ''] = /\d+(?:\.\d+)*/.exec(installed) ?? []
  return version === undefined || compareVersions(found, version) < 0
}

/** Notes in the log which git it takes for a repository that the installed one does not know: once for each. */
export class UnknownFormatNotes {
  readonly #logger: Logger
  readonly #version: (directory: string) => Promise<string>
  readonly #noted = new Set<string>()

  /** @param version what `git version` prints */
  constructor(logger: Logger, version: (directory: string) => Promise<string>) {
    this.#logger = logger
    this.#version = version
  }

  /** @param error what git has said */
  async note(directory: string, error: string): Promise<void> {
    if (this.#noted.has(directory)) return
    this.#noted.add(directory)
    for (const first of this.#noted) if (this.#noted.size > MAX_NOTED) this.#noted.delete(first)
    try {
      const [installed, needed] = [await this.#version(directory), await neededGit(directory)]
      const words =
        needed?.version !== undefined && isTooOld(installed, needed)
          ? `is too old for this repository: extensions.${needed.extension} needs git ${needed.version}`
          : 'does not know the format of this repository'
      this.#logger.warn({ repository: directory, installed, said: error }, `the installed git ${words}`)
    } catch (cause) {
      this.#logger.warn(
        { repository: directory, said: error, err: cause },
        `the installed git does not know the format of this repository: ${errorMessage(cause)}`,
      )
    }
  }
}

interface Extension {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

/** The members of the sections `[extensions]` of a config, without the rarer ways to write them. */
function extensionsIn(text: string): Extension[] {
  const sections = text.split(/^[ \t]*(?=\[)/m).filter((section) => /^\[extensions\]/i.test(section))
  return sections.flatMap((section) =>
    section
      .slice('[extensions]'.length)
      .split('\n')
      .flatMap((line) => {
        const [, name, value = 'true'] = /^\s*([a-z][a-z0-9-]*)\s*(?:=([^#;]*))?/i.exec(line) ?? []
        return name === undefined ? [] : [{ name: name.toLowerCase(), value: value.trim().replaceAll('"', '') }]
      }),
  )
}

function isLater(one: NeededGit, other: NeededGit): boolean {
  if (one.version === undefined || other.version === undefined) return one.version === undefined
  return compareVersions(one.version, other.version) > 0
}

function compareVersions(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
