import { html } from './html/html.js'
import type { Page } from './html/layout.js'

/** What somebody sees who is not signed in. @param base of the pages */
export function signInPage(signInUrl: string | undefined, hasLinks: boolean, user?: string): Page {
  return {
    title: 'Sign in',
    content: html`<h1>Sign in</h1>
      ${user !== undefined && html`<p>You are signed in as <strong>${user}</strong>.</p>`}
      ${signInUrl !== undefined && html`<p><a class="button" href="${signInUrl}">Sign in</a></p>`}
      ${
        hasLinks &&
        html`<p>
            Whoever has a shell on the machine of the service, or may use it over ssh, gets a link there that is good
            once, for ten minutes:
          </p>
          <pre tabindex="0"><code>scripts/commit-status sign-in alice</code></pre>`
      }
      ${
        signInUrl === undefined &&
        !hasLinks &&
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

export const linkOverPage: Page = {
  title: 'The link is no longer good',
  content: html`<h1>The link is no longer good</h1>
    <p>It was used, or is older than ten minutes, or was never given. Ask for another one:</p>
    <pre tabindex="0"><code>scripts/commit-status sign-in alice</code></pre>`,
}
