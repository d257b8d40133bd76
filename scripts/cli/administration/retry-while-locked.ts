import { setTimeout } from 'node:timers/promises'
import { StoreLocked } from '../../../lib/errors.js'

/** A service that is starting or stopping, or a command, holds the store for a moment. */
const ATTEMPTS = 30
const PAUSE_MILLISECONDS = 100

/** Tries again, for some seconds, while another process has the store open. */
export async function retryWhileLocked<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreLocked) || attempt === ATTEMPTS) throw error
    }
    await setTimeout(PAUSE_MILLISECONDS)
  }
}
