/** Where the strict API is, and Gitea's on a host that is named for it. */
export const STRICT_MOUNT = '/api/v1'

/** The paths that each API of others is under. */
export const MOUNTS = {
  github: ['/api/v3', '/github/api/v3'],
  gitea: ['/gitea/api/v1'],
  gitlab: ['/api/v4', '/gitlab/api/v4'],
} as const satisfies Record<string, readonly string[]>

/** What every address of ours that is no page begins with. */
const TAKEN = ['/healthz', STRICT_MOUNT, ...Object.values(MOUNTS).flat()]

/** Whether pages under this path would be at addresses of an API, and so hide it. */
export function isOfApi(path: string): boolean {
  return TAKEN.some((taken) => isAtOrBelow(path, taken))
}

/** Whether a path that is not empty leads to that of an API. */
export function leadsToApi(path: string): boolean {
  return TAKEN.some((taken) => isAtOrBelow(taken, path))
}

function isAtOrBelow(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`)
}
