/** The line of a shell that reports on a commit. */
export function reportLine(report: {
  /** What the address of the API begins with. */
  readonly service: string
  readonly token: string
  /** `owner/repo` */
  readonly repository: string
  readonly sha: string
}): string {
  const { service, token, repository, sha } = report
  const body = '{"state": "success", "context": "build"}'
  const address = `${service}/api/v1/repos/${repository}/statuses/${sha}`
  return `curl -H "Authorization: Bearer ${token}" -d '${body}' ${address}`
}

/** The commit that is checked out, for a shell. */
export const HEAD = '$(git rev-parse HEAD)'
