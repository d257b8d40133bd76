import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Language } from './toolchains.js'

/** A client as its makers publish it, and a program beside this file that calls the service by it. */
export interface Client {
  /** Of the client, and of the program's folder. */
  readonly name: string
  readonly api: 'GitHub' | 'Gitea' | 'GitLab'
  readonly language: Language
  /** As the folder's manifest pins it. */
  readonly version: string
  readonly folder: string
}

const places: readonly [Client['name'], Client['api'], Language, manifest: string, found: string][] = [
  ['go-github', 'GitHub', 'Go', 'go.mod', 'github.com/google/go-github/v89'],
  ['prow', 'GitHub', 'Go', 'go.mod', 'sigs.k8s.io/prow'],
  ['github-api', 'GitHub', 'Java', 'pom.xml', 'github-api</artifactId>'],
  ['octocrab', 'GitHub', 'Rust', 'Cargo.toml', 'octocrab ='],
  ['PyGithub', 'GitHub', 'Python', 'requirements.txt', 'PyGithub=='],
  ['gitea-sdk', 'Gitea', 'Go', 'go.mod', 'code.gitea.io/sdk/gitea'],
  ['forgejo-api', 'Gitea', 'Rust', 'Cargo.toml', 'forgejo-api ='],
  ['client-go', 'GitLab', 'Go', 'go.mod', 'gitlab.com/gitlab-org/api/client-go/v2'],
  ['gitlab4j-api', 'GitLab', 'Java', 'pom.xml', 'gitlab4j-api</artifactId>'],
  ['gitlab', 'GitLab', 'Rust', 'Cargo.toml', 'gitlab ='],
  ['python-gitlab', 'GitLab', 'Python', 'requirements.txt', 'python-gitlab=='],
]

/** Every client that `npm run clients` runs. */
export const clients: readonly Client[] = places.map(([name, api, language, manifest, found]) => {
  const folder = fileURLToPath(new URL(name, import.meta.url))
  const [, after = ''] = readFileSync(join(folder, manifest), 'utf8').split(found)
  // Of what Go makes of a commit that has no version the day is enough.
  const version = /\d+\.\d+(?:\.\d+)?(?:-\d{8})?/.exec(after)?.[0]
  if (version === undefined) throw new Error(`${name}/${manifest} does not pin it`)
  return { name, api, language, version, folder }
})
