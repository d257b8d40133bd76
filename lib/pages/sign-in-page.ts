import { html, type Content } from './html/html.js'
import type { Page } from './html/layout.js'

/** Lines of a shell that print a link. */
export interface LinkHints {
  /** For whoever runs it, anywhere; empty: nobody knows of one. */
  readonly over: string
  /** For an admin on the machine of the service. */
  readonly here: string
}

/**
 * What somebody sees who is not signed in.
 * @param ways.url where to sign in
 * @param ways.links absent where nobody signs in by links
 */
export function signInPage({
  url,
  links,
  user,
}: {
  readonly url?: string
  readonly links?: LinkHints
  readonly user: string | undefined
}): Page {
  return {
    title: 'Sign in',
    content: html`<h1>Sign in</h1>
      ${user !== undefined && html`<p>You are signed in as <strong>${user}</strong>.</p>`}
      ${url !== undefined && html`<p><a class="button" href="${url}">Sign in</a></p>`}
      ${
        links &&
        html`<p>By a link that is good once, for ten minutes: open it in this browser.</p>
          ${linkLines(links)}`
      }
      ${
        url === undefined &&
        !links &&
        html`<p>This service does not sign people in by itself. Ask whoever runs it where that is done.</p>`
      }`,
  }
}

/** Asks whoever has opened a link: what only looks at links, a mail scanner for one, must not use them up. */
export function confirmPage(base: string, code: string, user: string): Page {
  return {
    title: `Sign in as ${user}`,
    content: html`<h1>Sign in as ${user}?</h1>
      <p>For eight hours, in this browser. Do so only if you asked for this link yourself.</p>
      <form method="post" action="${base}/sign-in">
        <input type="hidden" name="code" value="${code}" /> <button>Sign in as ${user}</button>
      </form>`,
  }
}

export function linkOverPage(links: LinkHints): Page {
  return {
    title: 'The link is no longer good',
    content: html`<h1>The link is no longer good</h1>
      <p>It was used, or is older than ten minutes, or was never given. Ask for another one.</p>
      ${linkLines(links)}`,
  }
}

function linkLines({ over, here }: LinkHints): Content {
  const onTheMachine = html`<p>An admin of the service prints one for anybody, on its machine:</p>
    <pre tabindex="0"><code>${here}</code></pre>`
  if (over === '') return onTheMachine
  return html`<p>This prints one for you:</p>
    <pre tabindex="0"><code>${over}</code></pre>
    ${onTheMachine}`
}
