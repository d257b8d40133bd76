/** What a thrown value says, in one line: for a message that tells an admin why something failed. */
export function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return text.replaceAll(/\s+/g, ' ')
}
