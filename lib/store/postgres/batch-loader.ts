import DataLoader from 'dataloader'

/** Looks up by key. */
export type BatchLoader<K, A> = DataLoader<K, A>

/** Statements of one kind on their way at once: while one is answered, the next is worked on. */
const MAX_STATEMENTS = 2

/** How many keys share a statement at most. */
const MAX_KEYS = 32

/**
 * Looks things up by key: what is asked at the same time, and while as many statements as may be are on their way,
 * shares the next one. A statement begins after all its questions were asked, so every answer is as new as if each had
 * been asked alone.
 * @param find asks about several keys in one statement; gives what tells the answer of each
 */
export function batchLoader<K, A>(find: (keys: readonly K[]) => Promise<(key: K) => A>): BatchLoader<K, A> {
  const waiting: (() => void)[] = []
  let statements = 0
  const begin = (): void => {
    while (statements < MAX_STATEMENTS) {
      const dispatch = waiting.shift()
      if (!dispatch) return
      statements++
      dispatch()
    }
  }
  return new DataLoader<K, A>(
    async (keys) => {
      try {
        const answerOf = await find(keys)
        return keys.map(answerOf)
      } finally {
        statements--
        begin()
      }
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      // Not at once: what is asked in the same turn of the event loop goes together.
      batchScheduleFn: (dispatch) => {
        waiting.push(dispatch)
        setImmediate(begin)
      },
    },
  )
}

/** Gives each key of a statement its row, by the place that the statement says (`WITH ORDINALITY`), if it has one. */
export function rowOfKey<K, Row extends { readonly at: string }>(
  keys: readonly K[],
  rows: readonly Row[],
): (key: K) => Row | undefined {
  // PostgreSQL counts from 1.
  const found = new Map(rows.map((row) => [keys[Number(row.at) - 1], row]))
  return (key) => found.get(key)
}

/** Looks up as `batchLoader` does, keys of one group together and groups side by side. */
export function groupedLoader<K, A>(
  find: (keys: readonly K[]) => Promise<(key: K) => A>,
  groupOf: (key: K) => string,
): Pick<BatchLoader<K, A>, 'load'> {
  /** Those that somebody waits for. */
  const groups = new Map<string, { readonly loader: BatchLoader<K, A>; waiting: number }>()
  return {
    async load(key) {
      const name = groupOf(key)
      const group = groups.get(name) ?? { loader: batchLoader(find), waiting: 0 }
      groups.set(name, group)
      group.waiting++
      try {
        return await group.loader.load(key)
      } finally {
        group.waiting--
        if (group.waiting === 0) groups.delete(name)
      }
    },
  }
}
