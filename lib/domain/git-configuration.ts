/** One line of git's configuration. */
export interface ConfigurationEntry {
  readonly key: string
  /** What stands between the section and the name, as the refs that a rule of the gate is for. */
  readonly subsection?: string
  /** In lower case, as git prints it. */
  readonly name: string
  readonly value: string
}

/** The words that ask git for all entries whose keys match, in a form in which every value can stand. */
export function askForEntries(keys: string): string[] {
  return ['config', '--null', '--includes', '--get-regexp', keys]
}

/** Takes apart what git prints of them. */
export function configurationEntries(output: string): ConfigurationEntry[] {
  return output
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const end = entry.indexOf('\n')
      // Without a value it is one that is set.
      const [key, value] = end === -1 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)]
      const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')]
      return { key, ...(first < last && { subsection: key.slice(first + 1, last) }), name: key.slice(last + 1), value }
    })
}
