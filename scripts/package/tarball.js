import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { manual } from './manual.js'
import { write } from './tree.js'

/** Where shells look for completions below /usr/local. */
const COMPLETIONS = {
  bash: 'bash-completion/completions',
  zsh: 'zsh/site-functions',
  fish: 'fish/vendor_completions.d',
}

/**
 * Packs the tree, with its manual and completions below `share`, in a folder of the archive's own name: of the same
 * bytes for the same tree and time.
 * @param {import('./tree.js').Tree} tree
 * @param {string} file
 * @param {{ time: number, work: string }} options
 * @returns {string} the file
 */
export function makeTarball(tree, file, { time, work }) {
  const name = basename(file, '.tar.xz')
  for (const [file, text] of manual(tree, COMPLETIONS)) write(join(tree.folder, 'share', file), text)
  const archive = join(work, 'tree.tar')
  const fixed = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar', `--mtime=@${time}`]
  const under = `--transform=flags=r;s|^tree|${name}|`
  execFileSync('tar', [...fixed, '--mode=u=rwX,go=rX', under, '-C', work, '-cf', archive, 'tree'])
  rmSync(file, { force: true })
  // One thread: how many there are decides where an archive is cut.
  execFileSync('sh', ['-c', 'exec xz -3 -T1 -c "$1" > "$2"', 'sh', archive, file])
  rmSync(archive)
  return file
}
