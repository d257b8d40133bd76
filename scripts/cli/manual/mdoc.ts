/** How long a line of the source is, which mandoc and people look at. */
const WIDTH = 78

/** Running text: a sentence begins a line, and what stands in backquotes is shown as it is to be typed. */
export function text(words: string): string {
  const sentences = words.replaceAll(/([.?!][)"']*) +(?=\S)/g, '$1\n').split('\n')
  return sentences.map((sentence) => wrapped(inline(sentence))).join('\n')
}

/** What is to be typed or read as it stands, with its own lines. */
export function literal(lines: readonly string[]): string {
  return ['.Bd -literal -offset indent', ...lines.map((line) => plain(exact(line))), '.Ed'].join('\n')
}

/** A line that calls a macro of mdoc with these words; another one among them is called too. */
export function macro(...words: readonly string[]): string {
  return `.${words.join(' ')}`
}

/** One argument of a macro, whatever is in it. */
export function word(given: string): string {
  const safe = exact(given)
    .replaceAll('"', '\\(dq')
    // What has the name of a macro, or is punctuation alone, would be taken for one.
    .replace(/^(?=[A-Z%][A-Za-z0-9]{0,2}$|[.,:;()[\]?!|]+$)/, '\\&')
  return /[ \t]|^$/.test(safe) ? `"${safe}"` : safe
}

/** An item of a list: what it is about, then what is said of it. */
export function item(about: string, ...said: readonly string[]): string {
  return [`.It ${about}`, ...said].join('\n')
}

export function list(...items: readonly string[]): string {
  return items.length === 0 ? '' : ['.Bl -tag -width Ds', ...items, '.El'].join('\n')
}

/** A page, by its parts; those that are empty are left out. @param date of the page, not of its printing */
export function page(title: string, section: 1 | 5, date: Date, parts: readonly string[]): string {
  const month = date.toLocaleString('en', { month: 'long', timeZone: 'UTC' })
  const head = [`.Dd ${month} ${date.getUTCDate()}, ${date.getUTCFullYear()}`, `.Dt ${title.toUpperCase()} ${section}`]
  return `${[...head, '.Os', ...parts].filter((part) => part !== '').join('\n')}\n`
}

function inline(sentence: string): string {
  const parts = sentence.split('`')
  return parts.map((part, index) => (index % 2 === 1 ? `\\fB${exact(part)}\\fR` : running(part))).join('')
}

/** A hyphen between words may become one of typography, one of an option may not. */
function running(part: string): string {
  return ascii(
    part.replaceAll('\\', '\\e').replaceAll(/(?<![\w)])-(?=[\w-])|--/g, (dashes) => dashes.replaceAll('-', '\\-')),
  )
}

/** Signs that printing would make prettier stay what they are. */
function exact(given: string): string {
  const names: Readonly<Record<string, string>> = {
    '\\': 'e',
    '-': '-',
    "'": '(aq',
    '`': '(ga',
    '~': '(ti',
    '^': '(ha',
  }
  return ascii(given.replaceAll(/[\\\-'`~^]/g, (sign) => `\\${names[sign] ?? ''}`))
}

function ascii(given: string): string {
  return given.replaceAll(
    /[^\n\x20-\x7e]/gu,
    (sign) => `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''}]`,
  )
}

/** A line that begins with what calls a macro calls none. */
function plain(line: string): string {
  return line.replace(/^(?=[.'])/, '\\&')
}

function wrapped(sentence: string): string {
  const lines: string[] = []
  let line = ''
  for (const part of sentence.split(/ +/)) {
    if (line !== '' && line.length + 1 + part.length > WIDTH) {
      lines.push(line)
      line = part
    } else line = line === '' ? part : `${line} ${part}`
  }
  return [...lines, line].map(plain).join('\n')
}
