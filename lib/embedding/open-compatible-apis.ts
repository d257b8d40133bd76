import { ChangedLines } from '../git/changed-lines.js'
import { CommitContents } from '../git/commit-content.js'
import { GateRules } from '../git/gate-rules.js'
import type { GitProcesses } from '../git/git-process.js'
import { MergedBranches } from '../git/merged-branches.js'
import type { RepositoryFolder } from '../git/repository-folder.js'
import { Tags } from '../git/tags.js'
import { compatibleApis } from '../http/compatible/apis.js'
import { Operations, type OperationsDependencies } from '../http/compatible/operations.js'
import { Projects } from '../http/compatible/projects.js'
import { compatibleSurfaces, hostSurface, type CompatibleDependencies } from '../http/compatible/surface.js'
import type { Surface } from '../http/surface.js'
import type { CommitStatusOptions } from './options.js'

export interface CompatibleApisDependencies
  extends
    CompatibleDependencies,
    Omit<OperationsDependencies, 'contents' | 'gateRules' | 'lines' | 'merged' | 'projects' | 'tags'> {
  readonly git: GitProcesses
  /** Where the repositories can be listed. */
  readonly folder: RepositoryFolder | undefined
}

/**
 * The APIs of others that a service is asked for.
 * @returns first those that take the place of the strict API for some hosts
 */
export function openCompatibleApis(
  { compatibleApis: names = [], giteaHosts = [] }: CommitStatusOptions,
  dependencies: CompatibleApisDependencies,
): { readonly ofHosts: readonly Surface[]; readonly mounted: readonly Surface[] } {
  if (names.length === 0 && giteaHosts.length === 0) return { ofHosts: [], mounted: [] }
  const { folder, git, refLists, meter, shares } = dependencies
  const projects = new Projects(async () => (await folder?.names()) ?? [], { topOwner: folder?.topOwner })
  const operations = new Operations({
    ...dependencies,
    contents: new CommitContents(git, meter, shares.contents),
    gateRules: new GateRules(git, refLists),
    lines: new ChangedLines(git, meter, shares.lines),
    merged: new MergedBranches(git),
    projects,
    tags: new Tags(git),
  })
  const hosts = new Set(giteaHosts.map((host) => host.toLowerCase()))
  return {
    ofHosts: hosts.size > 0 ? [hostSurface(compatibleApis.gitea(operations), hosts, dependencies)] : [],
    mounted: [...new Set(names)].flatMap((name) => compatibleSurfaces(compatibleApis[name](operations), dependencies)),
  }
}
