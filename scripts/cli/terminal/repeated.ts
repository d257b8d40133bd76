/** Reads an option that may be given several times, for commander. */
export function repeated(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text]
}
