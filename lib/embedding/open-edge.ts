import { CommitContents } from '../git/commit-content.js'
import type { GitProcesses } from '../git/git-process.js'
import type { Refs } from '../git/refs.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import { compatibleApis } from '../http/compatible/apis.js'
import { createCompatibleHandler } from '../http/compatible/surface.js'
import { Operations } from '../http/compatible/operations.js'
import { Projects } from '../http/compatible/projects.js'
import { createHandler, type Handler, type HandlerParts } from '../http/dispatcher.js'
import type { PublicAddress } from '../http/public-address.js'
import type { CommitStatusOptions } from './options.js'

/** What of a service only the compatible APIs need. */
export interface EdgeParts extends HandlerParts {
  readonly refs: Refs
  readonly git: GitProcesses
  readonly address: PublicAddress
  /** Where the repositories can be listed. */
  readonly folder: RepositoryFolder | undefined
}

/** The HTTP edge of a service: its own API and, where they are asked for, those that are compatible with others. */
export function openEdge(options: CommitStatusOptions, parts: EdgeParts): Handler {
  const rest = createHandler(parts)
  const { compatibleApis: names = [], giteaHosts = [] } = options
  if (names.length === 0 && giteaHosts.length === 0) return rest
  const { folder, git } = parts
  const projects = new Projects(async () => (await folder?.names()) ?? [])
  const operations = new Operations({ ...parts, contents: new CommitContents(git), projects })
  return createCompatibleHandler({
    ...parts,
    rest,
    apis: [...new Set(names)].map((name) => compatibleApis[name](operations)),
    ofHosts: compatibleApis.gitea(operations),
    hosts: new Set(giteaHosts.map((host) => host.toLowerCase())),
  })
}
