import * as module from 'node:module'
import { load, resolve } from './hooks.js'

// Node.js 26 warns of `register`; what it has in its place had its faults in versions before.
if (Number.parseInt(process.versions.node) >= 26 && 'registerHooks' in module) {
  const { registerHooks } = module
  if (typeof registerHooks === 'function') Reflect.apply(registerHooks, module, [{ resolve, load }])
} else module.register('./hooks.js', import.meta.url)
