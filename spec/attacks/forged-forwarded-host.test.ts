// A forged X-Forwarded-Host or X-Forwarded-Proto: where a reverse proxy hands on what its client has sent, links of
// answers lead to the client's own host, which caches, mails and CI then follow, and an https site gives http links.
// Past victims: password resets of Django, Rails and Laravel, and caches of all kinds. Once the recipes for
// oauth2-proxy and Authelia left the first out everywhere, and the second for the APIs.
import t from 'tap'
import { nginxIsMissing } from '../fixtures/nginx.js'
import { behindNginx, RECIPES } from '../fixtures/nginx-recipes.js'
import { visit } from '../fixtures/visit.js'

const FORGED = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }

for (const recipe of RECIPES) {
  t.test(
    `Behind nginx with ${recipe.name}, as the page has it, what a client says of the host becomes no link`,
    { skip: nginxIsMissing },
    async (t) => {
      const { service, url, sha, token, asked } = await behindNginx(t, recipe, {
        compatibleApis: ['github', 'gitea', 'gitlab'],
        giteaHosts: ['evil.example'],
      })
      const authorization = { Authorization: `Bearer ${token}` }
      /** Of an answer all that may hold a link. */
      const said = async (path: string, headers: Record<string, string>): Promise<string> => {
        const answer = await visit({ url }, path, { headers: { ...headers, ...FORGED } })
        t.equal(answer.status, 200, path)
        return [...answer.headers].join('\n') + answer.text
      }
      const leadsHere = (text: string, path: string): void => {
        t.notMatch(text, 'evil.example', path)
        t.ok(text.includes(`${url}/`), `${path}: links lead through nginx`)
        t.notOk(text.includes(url.replace('http:', 'https:')), `${path}: with the scheme that the client came by`)
      }
      for (const context of ['a', 'b']) await service.report('alice/private', sha, token, { state: 'success', context })

      for (const path of [
        `/api/v3/repos/alice/private/commits/${sha}/statuses?per_page=1`,
        `/github/api/v3/repos/alice/private/commits/${sha}/status?per_page=1`,
        `/gitea/api/v1/repos/alice/private/commits/${sha}/statuses?limit=1`,
        `/api/v4/projects/alice%2Fprivate/repository/commits/${sha}/statuses?per_page=1`,
        `/gitlab/api/v4/projects/alice%2Fprivate/repository/commits/${sha}/statuses?per_page=1`,
      ])
        leadsHere(await said(path, authorization), path)
      const list = `/api/v1/repos/alice/private/commits/${sha}/statuses`
      t.match(await said(list, authorization), '"statuses":[', "and switches no host's /api/v1 to Gitea's")

      const pages = ['/repos/alice/private', `/repos/alice/private/commits/${sha}/fragment`]
      for (const path of pages) leadsHere(await said(path, { Cookie: 'session=alice' }), path)
      await service.admin.setVisibility('alice/private', 'public')
      for (const path of pages) leadsHere(await said(path, {}), `${path} for somebody who is not signed in`)

      t.ok(asked.length >= 2)
      const { host } = new URL(url)
      for (const headers of asked)
        t.match(
          headers,
          { 'x-forwarded-host': host, 'x-forwarded-proto': 'http' },
          'whoever signs people in is told too',
        )
    },
  )
}
