import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import type { Client } from './clients.js'

export type Language = 'Go' | 'Java' | 'Python' | 'Rust'

type Command = readonly [program: string, ...args: string[]]

interface Toolchain {
  /** What there must be, by what prints its version, and since which one. */
  readonly needs: readonly { readonly command: Command; readonly since: readonly [major: number, minor: number] }[]
  /** Makes the program of a folder; runs in it, and writes into the cache alone. */
  readonly build: (cache: string) => readonly Command[]
  readonly run: (cache: string, name: string) => Command
}

const toolchains: Readonly<Record<Language, Toolchain>> = {
  Go: {
    // Since 1.21 it fetches the version that a program asks for.
    needs: [{ command: ['go', 'version'], since: [1, 21] }],
    build: (cache) => [['go', 'build', '-o', join(cache, 'program'), '.']],
    run: (cache) => [join(cache, 'program')],
  },
  Java: {
    needs: [
      { command: ['javac', '-version'], since: [17, 0] },
      { command: ['mvn', '--version'], since: [3, 6] },
    ],
    build: (cache) => [
      [
        ...(['mvn', '--batch-mode', '--quiet'] as const),
        'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath',
        `-Dmdep.outputFile=${join(cache, 'classpath')}`,
      ],
      ['javac', '-d', cache, '-cp', `@${join(cache, 'classpath')}`, 'Main.java', '../calls/Calls.java'],
    ],
    run: (cache) => ['java', '-cp', [cache, readFileSync(join(cache, 'classpath'), 'utf8')].join(delimiter), 'Main'],
  },
  Python: {
    needs: [{ command: ['python3', '-c', 'import ensurepip, sys, venv; print(sys.version)'], since: [3, 9] }],
    build: (cache) => [
      ['python3', '-m', 'venv', cache],
      [join(cache, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', '-r', 'requirements.txt'],
    ],
    run: (cache) => ['env', 'PYTHONDONTWRITEBYTECODE=1', 'PYTHONPATH=../calls', join(cache, 'bin/python'), 'main.py'],
  },
  Rust: {
    needs: [{ command: ['cargo', '--version'], since: [1, 85] }],
    // One folder for all: what several clients need is compiled once.
    build: (cache) => [['cargo', 'build', '--quiet', '--locked', '--target-dir', join(cache, '../rust')]],
    run: (cache, name) => [join(cache, '../rust/debug', `call-${name}`)],
  },
}

/** @returns what is missing for a language, or `undefined` */
export async function missingFor(language: Language): Promise<string | undefined> {
  for (const { command, since } of toolchains[language].needs) {
    const { code, output } = await run(command)
    const [, major, minor = '0'] = /(\d+)(?:\.(\d+))?/.exec(stripVTControlCharacters(output)) ?? []
    const isOld = Number(major) < since[0] || (Number(major) === since[0] && Number(minor) < since[1])
    if (code !== 0 || isOld) return `no ${command[0]} ${since.join('.')} or newer`
  }
  return undefined
}

/**
 * Builds the program of a client.
 * @param cache where what is built is kept between runs
 * @returns what a failed command printed, or `undefined`
 */
export async function build({ language, folder }: Client, cache: string): Promise<string | undefined> {
  for (const command of toolchains[language].build(cache)) {
    const { code, output } = await run(command, { cwd: folder })
    if (code !== 0) return output
  }
  return undefined
}

/** Runs the program of a client that is built. */
export async function call(
  { name, language, folder }: Client,
  cache: string,
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  const command = toolchains[language].run(cache, name)
  return await run(command, { cwd: folder, env: environment, timeout: 120_000 })
}

export interface Ended {
  readonly code: number
  /** Of both streams, the standard one first. */
  readonly output: string
}

async function run(
  [file, ...args]: Command,
  { cwd, env, timeout = 0 }: { cwd?: string; env?: Readonly<Record<string, string>>; timeout?: number } = {},
): Promise<Ended> {
  // The places of the installers of Go and of Rust, which not every PATH has, before older ones of the system.
  const path = ['/usr/local/go/bin', join(homedir(), '.cargo/bin'), process.env['PATH']].join(':')
  const options = { cwd, env: { ...process.env, ...env, PATH: path }, timeout, maxBuffer: 1 << 26 }
  try {
    const { stdout, stderr } = await promisify(execFile)(file, args, options)
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, killed, stdout = '', stderr = '', message } = error as Partial<Failure> & Error
    const reason = killed === true ? `it took more than ${timeout / 1000} s\n` : ''
    return { code: typeof code === 'number' ? code : 1, output: stdout + stderr + reason || message }
  }
}

interface Failure {
  readonly code: number | string | null
  readonly killed: boolean
  readonly stdout: string
  readonly stderr: string
}
