import type { Progress } from '../../../lib/concurrency/task.js'

/** How far it is. */
export function describeProgress({ phase, done, share }: Progress): string {
  const percentage = share === undefined ? '' : ` ${Math.floor(share * 100)} %,`
  return `${phase}:${percentage} ${done.toLocaleString('en')} done`
}
