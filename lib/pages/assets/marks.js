/*
 * For the logs of cgit and gitweb: asks for the states of all commits of a page at once, and puts a sign with a link
 * before each. Links elsewhere, of navigation above all, stay as they are. Reads nothing but addresses of links, writes
 * nothing but text, and learns of public repositories alone.
 */
'use strict'
;(() => {
  const script = document.currentScript
  // What the addresses of pages begin with, and who owns repositories in no folder: the service writes them here.
  const base = 'BASE'
  const topOwner = 'TOP_OWNER'
  const root = new URL('.', script.src).href.slice(0, -1 - base.length)
  const signs = { success: ['\u2713', '#1a7f37'], failure: ['\u2717', '#cf222e'], pending: ['\u25cf', '#9a6700'] }
  const part = '[\\w+@~,=%][\\w.+@~,=%-]*'
  const named = new RegExp('^' + part.replaceAll('%', '') + '$')
  const id = '([0-9a-f]{40}(?:[0-9a-f]{24})?)'
  // The header of cgit leads to all repositories, and to this one: what is between is its name, of any depth.
  const ofCgit = () => {
    const [all, own] = [...document.querySelectorAll('#header td.main a[href]')].map((link) =>
      link.getAttribute('href').replace(/\/$/, ''),
    )
    return own && own.startsWith(all + '/') ? { own, name: own.slice(all.length + 1) } : undefined
  }
  const inCgit = new RegExp('^(.*?)/commit/[^?#]*\\?(?:.*&)?id=' + id)
  const lastTwo = new RegExp('(' + part + '/' + part + ')$')
  const inGitweb = new RegExp('[?;&]p=([^;&#]+)[;&]a=commit[;&](?:.*[;&])?h=' + id)
  /** The repository and the commit that a link of a log leads to, the repository in two parts of an address. */
  const commitOf = (href, cgit) => {
    const place = cgit && href.startsWith(cgit.own + '/commit/') ? href.slice(cgit.own.length) : href
    const inside = inCgit.exec(place)
    const [, path, sha] = inside || inGitweb.exec(href) || []
    if (!sha) return undefined
    const text = !inside ? path : place === href ? (lastTwo.exec(path) || [])[1] : cgit.name
    if (!text) return undefined
    const parts = decodeURIComponent(text)
      .replace(/\/$/, '')
      .replace(/\.git$/, '')
      .split('/')
    if (!parts.every((one) => named.test(one))) return undefined
    const [owner, ...rest] = parts.length === 1 ? [topOwner, ...parts] : parts
    return [owner + '/' + rest.join('%2F'), sha]
  }
  const logs = ['list', 'shortlog', 'history', 'commit_search'].map((name) => 'table.' + name + ' tr').join()
  const rowOf = (link) => {
    const header = link.closest('.header')
    const isOfLog = header && header.nextElementSibling && header.nextElementSibling.querySelector('.log_link')
    return isOfLog ? header : link.closest(logs)
  }
  const mark = async () => {
    const found = new Map()
    const rows = new Set()
    const cgit = ofCgit()
    for (const link of document.querySelectorAll('a[href]')) {
      const [repository, sha] = commitOf(link.getAttribute('href'), cgit) || []
      if (!sha) continue
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
