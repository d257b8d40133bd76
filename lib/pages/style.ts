import { hash } from 'node:crypto'

/** The one stylesheet: light and dark, from a phone's width on, with the fonts that are there. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f6f8fa; --line: #d1d9e0; --text: #1f2328; --quiet: #59636e; --link: #0550ae;
  --success: #116329; --success-ground: #dafbe1; --failure: #a40e26; --failure-ground: #ffebe9;
  --pending: #7d4e00; --pending-ground: #fff8c5; --none-ground: #eaeef2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1117; --panel: #151b23; --line: #3d444d; --text: #f0f6fc; --quiet: #9198a1; --link: #79b8ff;
    --success: #56d364; --success-ground: #0f2d18; --failure: #ff8d86; --failure-ground: #3c1618;
    --pending: #e3b341; --pending-ground: #34290f; --none-ground: #212830;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
}
a { color: var(--link); text-underline-offset: 0.15em; }
a:focus-visible, button:focus-visible, input:focus-visible, select:focus-visible, pre:focus-visible,
summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; background: var(--ground); padding: 0.5rem 1rem; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip:focus { left: 0.5rem; top: 0.5rem; }
header {
  display: flex; flex-wrap: wrap; gap: 0.25rem 2rem; justify-content: space-between; padding: 0.75rem 1.25rem;
  background: var(--panel); border-bottom: 1px solid var(--line);
}
header a { text-decoration: none; }
header a:hover { text-decoration: underline; }
.you { display: flex; flex-wrap: wrap; gap: 0 1rem; }
form { margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 0.5rem; font-weight: 600; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; font-weight: 600; }
p { margin: 0 0 1rem; }
code, pre, .sha { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: 0.85em; }
pre {
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 0 0 1rem;
  white-space: pre-wrap;
}
.quiet { color: var(--quiet); }
.state { white-space: nowrap; font-weight: 600; padding: 0.1em 0.65em; border-radius: 1em; font-size: 0.85em; }
.success { color: var(--success); background: var(--success-ground); }
.failure, .error { color: var(--failure); background: var(--failure-ground); }
.pending { color: var(--pending); background: var(--pending-ground); }
.none { color: var(--quiet); background: var(--none-ground); }
.rows { list-style: none; margin: 1rem 0; padding: 0; border: 1px solid var(--line); border-radius: 8px; }
.rows li { padding: 0.65rem 1rem; display: flex; gap: 0.15rem 1rem; flex-wrap: wrap; align-items: baseline; }
.rows li + li { border-top: 1px solid var(--line); }
.rows .state { min-width: 6.6rem; text-align: center; }
.rows .what { flex: 1 1 22rem; min-width: 0; }
.rows .what strong, .rows .what > a:first-child { font-weight: 600; }
.rows .when { color: var(--quiet); font-size: 0.875rem; }
.rows .more { display: block; color: var(--quiet); font-size: 0.9rem; }
.log li { display: grid; grid-template-columns: auto 1fr; }
.log a { font-weight: 600; }
.log small { grid-column: 2; color: var(--quiet); font-size: 0.875rem; }
.top { display: flex; gap: 0.5rem 1rem; align-items: baseline; flex-wrap: wrap; margin: 0 0 1rem; }
.turn, .facts { display: flex; gap: 0 1.5rem; flex-wrap: wrap; align-items: baseline; }
.top .state { font-size: 1rem; }
.bar { display: flex; gap: 0.5rem; flex-wrap: wrap; margin: 1rem 0; align-items: end; }
.bar label { flex: 1 1 12rem; }
label { display: block; font-weight: 600; }
label .quiet { font-weight: 400; font-size: 0.9rem; display: block; }
input:not([type]), input[type="search"], input[type="text"], select {
  font: inherit; font-weight: 400; width: 100%; padding: 0.4rem 0.6rem;
  border: 1px solid var(--quiet); border-radius: 6px;
  background: var(--ground); color: var(--text);
}
fieldset { border: 0; padding: 0; margin: 0; }
legend { font-weight: 600; padding: 0; }
.choice { font-weight: 400; }
.form { display: grid; gap: 1rem; max-width: 34rem; }
button, .button {
  font: inherit; font-weight: 600; padding: 0.4rem 1rem; border: 1px solid var(--quiet); border-radius: 6px;
  background: var(--panel); color: var(--text); cursor: pointer; text-decoration: none; display: inline-block;
}
button:hover, .button:hover { border-color: var(--text); }
button.plain { background: none; border: 0; padding: 0; color: var(--link); font-weight: 400; }
button.grave { color: var(--failure); border-color: var(--failure); }
.token { font-size: 1rem; user-select: all; }
.note { border-left: 4px solid var(--pending); background: var(--pending-ground); padding: 0.75rem 1rem; }
@media (max-width: 34rem) {
  main { padding: 1rem 0.75rem 3rem; }
  header { padding: 0.6rem 0.75rem; }
  .log li { grid-template-columns: 1fr; justify-items: start; }
  .log small { grid-column: 1; }
}
@media print { header, .bar { display: none; } }
`

/** Changes with the stylesheet, so that browsers may keep it for ever. */
export const STYLE_DIGEST = hash('sha256', STYLE, 'base64url').slice(0, 10)

/** What browsers show beside the title of a page. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#1a7f37"/>' +
  '<path d="M4 8.4l2.6 2.6L12 5.6" fill="none" stroke="#fff" stroke-width="2"/></svg>'
