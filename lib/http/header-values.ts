import type { IncomingMessage } from 'node:http'

/**
 * The values of a header, one for each line that has it: node:http joins some, and passes over others.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const values: string[] = []
  // Names and values take turns.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const key = rawHeaders[index]
    if (key?.length === name.length && key.toLowerCase() === name) values.push(String(rawHeaders[index + 1]))
  }
  return values
}
