import type { ObjectId } from '../domain/object-id.js'
import type { RepositoryName } from '../domain/repository-name.js'
import { ServiceError } from '../errors.js'
import type { Answer } from '../http/exchange.js'
import type { VisibleRepository } from '../service/repository-access.js'
import { repositoryPath } from '../http/page-paths.js'
import type { PageContext } from './context.js'
import { repositoryLink } from './error-page.js'
import { html } from './html/html.js'
import { fleetingAnswer, redirect, type PageFrame } from './html/layout.js'

/** The fewest digits of an id that stand for it: as many as git prints. */
const SHORT_ID = /^[0-9a-f]{7,63}$/i

/** Of an ambiguous id. */
const MAX_CANDIDATES = 20

/**
 * Leads on to the page of the commit that is meant: by a branch or tag, or by the beginning of its id. As in git, a
 * branch comes first.
 * @param found a repository that the visitor may read
 * @param rest of the address
 * @throws ServiceError `commit_not_found`; RepositoryUnreadable
 */
export async function leadOn(
  pageContext: PageContext,
  frame: PageFrame,
  found: VisibleRepository,
  { name, rest }: { readonly name: string; readonly rest: string },
): Promise<Answer> {
  const [commit, ...others] = await commitsNamed(pageContext, found, name)
  if (!commit) throw new ServiceError('commit_not_found')
  if (others.length > 0) return ambiguous(frame, found.name, name, [commit, ...others])
  return redirect(`${frame.base}${repositoryPath(found.name)}/commits/${commit.hex}${rest}`)
}

async function commitsNamed(
  { refs, log, lists }: PageContext,
  { repository }: VisibleRepository,
  name: string,
): Promise<readonly ObjectId[]> {
  const ref = await refs.resolve(repository, name)
  if (ref && (await lists.hasCommit(repository, ref))) return [ref]
  const objects = SHORT_ID.test(name) ? await log.objectsBeginning(repository, name) : []
  const commits = await Promise.all(
    objects.map(async (object) => ((await lists.hasCommit(repository, object)) ? [object] : [])),
  )
  return commits.flat()
}

function ambiguous(frame: PageFrame, found: RepositoryName, digits: string, commits: readonly ObjectId[]): Answer {
  const repository = frame.base + repositoryPath(found)
  const links = commits
    .slice(0, MAX_CANDIDATES)
    .map(({ hex }) => html`<li><a class="sha" href="${repository}/commits/${hex}">${hex}</a></li>`)
  return fleetingAnswer(404, frame, {
    title: 'More than one commit',
    trail: [
      [found.full, repository],
      [digits, ''],
    ],
    content: html`<h1>More than one commit begins with ${digits}</h1>
      <ul>
        ${links}
      </ul>
      ${repositoryLink(frame, found)}`,
  })
}
