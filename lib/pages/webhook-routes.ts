import { ServiceError } from '../errors.js'
import type { Route } from '../http/surface.js'
import { repositoryPattern } from '../http/page-paths.js'
import { onsOf } from '../store/hook-index.js'
import { fleetingAnswer } from './html/layout.js'
import { callerOf, frameOf, minuteNow, queryOf, repositoryOf, skipOf, type PageContext } from './context.js'
import { webhooksPage } from './webhooks-page.js'

/** The page of a repository's hooks. To who may only read, it is not there. */
export function webhookRoutes(pageContext: PageContext): readonly Route[] {
  const { base, lists, hooks } = pageContext
  if (!hooks) return []
  return [
    {
      name: 'page',
      method: 'GET',
      path: repositoryPattern('/webhooks'),
      operation: async (request) => {
        const frame = await frameOf(pageContext, request)
        const { name, access } = await lists.find(callerOf(frame), repositoryOf(request), 'write')
        if (access !== 'write') throw new ServiceError('path_unknown')
        const ons = onsOf(name)
        const told = (await hooks.listHooks(null)).filter(({ on }) => ons.includes(on))
        const view = { base, name, hooks: told, now: minuteNow(pageContext), skip: skipOf(queryOf(request)) }
        return fleetingAnswer(200, frame, webhooksPage(view))
      },
    },
  ]
}
