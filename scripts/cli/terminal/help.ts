import type { Command } from 'commander'

/** How long a line of help is. */
const WIDTH = 100

export interface Explanation {
  /** Paragraphs. */
  readonly more?: readonly string[]
  /** Lines to paste. */
  readonly examples: readonly string[]
}

const explanations = new WeakMap<Command, Explanation>()

/** What the help of a command says besides its arguments and options, for its manual. */
export function explanationOf(command: Command): Explanation | undefined {
  return explanations.get(command)
}

/** Adds to the help of a command what a person wants to know, and examples to paste; not to what wrong use shows. */
export function explain(command: Command, explanation: Explanation): void {
  explanations.set(command, explanation)
  const { more = [], examples } = explanation
  const paragraphs = [
    ...more.map(wrapped),
    `${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => `  ${line}`).join('\n')}`,
  ]
  command.addHelpText('after', ({ error }) => (error ? '' : `\n${paragraphs.join('\n\n')}`))
}

function wrapped(paragraph: string): string {
  return paragraph.replaceAll(new RegExp(`(?=.{${WIDTH + 1}})(.{1,${WIDTH}}) `, 'g'), '$1\n')
}
