import { cpSync, existsSync, rmSync } from 'node:fs'
import type { Place } from './data.js'
import { ServerProcess } from './processes.js'
import type { Setting } from './setting.js'

/** The service on a place and, where there is another checkout, its service on a copy of the store. */
export class Services {
  readonly ours: ServerProcess
  readonly against: ServerProcess | undefined
  readonly #copy: string

  private constructor(ours: ServerProcess, against: ServerProcess | undefined, copy: string) {
    this.ours = ours
    this.against = against
    this.#copy = copy
  }

  static async start(
    { against }: Setting,
    { repositories, store }: Place,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Services> {
    const copy = `${store}.against`
    if (against !== undefined) copyStore(store, copy)
    return new Services(
      await ServerProcess.service({ repositories, store }, settings),
      against === undefined ? undefined : await ServerProcess.service({ repositories, store: copy }, settings, against),
      copy,
    )
  }

  async end(): Promise<void> {
    await Promise.all([this.ours.end(), this.against?.end()])
    rmSync(this.#copy, { recursive: true, force: true })
  }
}

/** Copies a store, that of a running service too; of one that is yet to be made there is no copy. */
export function copyStore(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  if (!existsSync(from)) return
  cpSync(from, to, { recursive: true, filter: (source) => !/(?:\/LOCK|\/admin)$/.test(source) })
}
