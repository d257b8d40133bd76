/*
 * For the logs of cgit and gitweb: asks for the states of all commits of a page at once, and puts a sign with a link
 * before each. Links elsewhere, of navigation above all, stay as they are. Reads nothing but addresses of links, writes
 * nothing but text, and learns of public repositories alone.
 */
'use strict'
;(() => {
  const script = document.currentScript
  // What the addresses of pages begin with: the service writes it here.
  const base = 'BASE'
  const root = new URL('.', script.src).href.slice(0, -1 - base.length)
  const signs = { success: ['\u2713', '#1a7f37'], failure: ['\u2717', '#cf222e'], pending: ['\u25cf', '#9a6700'] }
  const [name, id] = ['[A-Za-z0-9_][\\w.-]*', '([0-9a-f]{40}(?:[0-9a-f]{24})?)']
  const places = [
    new RegExp('(' + name + '/' + name + '?)(?:\\.git)?/commit/[^?#]*\\?(?:.*&)?id=' + id),
    new RegExp(
      '[?;&]p=(?:.*(?:/|%2F))?(' + name + '(?:/|%2F)' + name + '?)(?:\\.git)?[;&]a=commit[;&](?:.*[;&])?h=' + id,
    ),
  ]
  const logs = ['list', 'shortlog', 'history', 'commit_search'].map((name) => 'table.' + name + ' tr').join()
  const rowOf = (link) => {
    const header = link.closest('.header')
    const isOfLog = header && header.nextElementSibling && header.nextElementSibling.querySelector('.log_link')
    return isOfLog ? header : link.closest(logs)
  }
  const mark = async () => {
    const found = new Map()
    const rows = new Set()
    for (const link of document.querySelectorAll('a[href]')) {
      const match = places.map((place) => place.exec(link.getAttribute('href'))).find(Boolean)
      if (!match) continue
      const [repository, sha] = [match[1].replace('%2F', '/'), match[2]]
      const row = rowOf(link)
      if (!row) continue
      const key = sha + ' ' + repository
      if ([...rows].some(([known, one]) => known === row && one === key)) continue
      rows.add([row, key])
      if (!found.has(repository)) found.set(repository, new Map())
      const commits = found.get(repository)
      commits.set(sha, [...(commits.get(sha) || []), link])
    }
    for (const [repository, commits] of found) {
      const shas = [...commits.keys()]
      for (let at = 0; at < shas.length; at += 100) {
        const query = shas
          .slice(at, at + 100)
          .map((sha) => 'sha=' + sha)
          .join('&')
        const answer = await fetch(root + '/api/v1/repos/' + repository + '/states?' + query, { credentials: 'omit' })
        if (!answer.ok) break
        const { states } = await answer.json()
        for (const sha of shas.slice(at, at + 100)) {
          const known = states[sha]
          if (!known || !signs[known.state]) continue
          for (const link of commits.get(sha)) {
            const [sign, colour] = signs[known.state]
            const element = document.createElement('a')
            element.href = root + base + '/repos/' + repository + '/commits/' + sha
            element.textContent = sign
            element.className = 'commit-status'
            element.title = known.state + ', ' + known.statuses + (known.statuses === 1 ? ' status' : ' statuses')
            element.setAttribute('aria-label', 'commit status: ' + element.title)
            element.style.cssText = 'font-weight:bold;text-decoration:none;margin-right:0.4em;color:' + colour
            link.before(element)
          }
        }
      }
    }
  }
  const start = () => {
    mark().catch(() => undefined)
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start)
  else start()
})()
