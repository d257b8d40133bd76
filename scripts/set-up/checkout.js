import { fileURLToPath } from 'node:url'

/** The folder that holds package.json: a checkout, or the unpacked npm package. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/(?<=.)\/$/, '')
