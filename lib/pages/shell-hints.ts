import type { Request } from '../http/surface.js'
import type { PageContext } from './context.js'
import { shellWord } from '../admin/shell-word.js'

/** What people need for lines of a shell on the machine of the service, each as a word of a shell. */
export interface ShellHints {
  /** The folder of the repositories. */
  readonly folder: string
  /** What administers the service. */
  readonly command: string
  /** Whether the visitor sits there, so that these are the real ones. */
  readonly isAtTheMachine: boolean
}

/** As they are for whoever sits at the machine. */
export function shellHints(pageContext: PageContext, request: Request): ShellHints {
  const isHere = isAtTheMachine(pageContext, request)
  const { folder, command } = isHere ? pageContext : {}
  return {
    isAtTheMachine: isHere && folder !== undefined,
    folder: folder === undefined ? '/path/of/the/repositories' : shellWord(folder),
    command: command ?? '/path/of/commit-status/scripts/commit-status',
  }
}

/** Nobody else needs to know where the repositories are. */
function isAtTheMachine({ isTrustedPeer }: PageContext, request: Request): boolean {
  const { socket, headers } = request
  const { remoteAddress = '' } = socket
  // Who comes through a proxy may be anywhere.
  if (isTrustedPeer(request)) return false
  return /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress) && headers['x-forwarded-for'] === undefined
}
