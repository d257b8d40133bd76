import type { Command } from 'commander'

/** How long a line of help is. */
const WIDTH = 100

/** Adds to the help of a command what a person wants to know, and examples to paste; not to what wrong use shows. */
export function explain(
  command: Command,
  { more = [], examples }: { more?: readonly string[]; examples: readonly string[] },
): void {
  const paragraphs = [
    ...more.map(wrapped),
    `${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  ${line}`).join('\n')}`,
  ]
  command.addHelpText('after', ({ error }) => (error ? '' : `\n${paragraphs.join('\n\n')}`))
}

function wrapped(paragraph: string): string {
  return paragraph.replaceAll(new RegExp(`(?=.{${WIDTH + 1}})(.{1,${WIDTH}}) `, 'g'), '$1\n')
}
