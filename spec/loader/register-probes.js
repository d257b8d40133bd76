import { register } from 'node:module'

// Called before the loader that makes JavaScript, whose result it takes.
register('./probes.js', import.meta.url)
