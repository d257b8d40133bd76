/** A text of others with so many characters at most, and a sign that there are more. */
export function shortened(text: string, characters: number): string {
  const all = Array.from(text)
  return all.length > characters ? `${all.slice(0, characters).join('')}…` : text
}
