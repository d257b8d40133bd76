import * as module from 'node:module'

// Node.js 26 warns of `register`; what it has in its place had its faults in versions before.
if (
  Number.parseInt(process.versions.node) >= 26 &&
  'registerHooks' in module &&
  typeof module.registerHooks === 'function'
) {
  Reflect.apply(module.registerHooks, module, [await import('./hooks.js')])
} else module.register('./hooks.js', import.meta.url)
