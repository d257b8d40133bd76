import t from 'tap'
import { repositoryAt } from '../../scripts/cli/git/checkout.js'

t.test('A repository is told from every form of URL that git takes', (t) => {
  const urls = [
    ...[
      'https://git.example.com/alice/hello.git',
      'https://git.example.com/alice/hello',
      'https://git.example.com/alice/hello.git/',
      'http://bob:secret@git.example.com:8080/git/alice/hello.git',
    ],
    ...[
      'ssh://git@git.example.com/alice/hello.git',
      'ssh://git@git.example.com:2222/srv/git/alice/hello.git',
      'SSH://[::1]:22/alice/hello',
      'git://git.example.com/alice/hello.git',
    ],
    ...[
      'git@git.example.com:alice/hello.git',
      'git@git.example.com:alice/hello',
      'git.example.com:/srv/git/alice/hello.git/',
      '[git@git.example.com:2222]:alice/hello.git',
      'git@[::1]:alice/hello.git',
    ],
    ...[
      '/srv/git/alice/hello.git',
      '../alice/hello.git',
      './alice/hello',
      'file:///srv/git/alice/hello.git',
      'git+ssh://git@git.example.com/alice/hello.git',
    ],
  ]
  for (const url of urls) t.equal(repositoryAt(url), 'alice/hello', url)
  t.end()
})

t.test('A name is the path behind the host, without a folder that servers have repositories in', (t) => {
  for (const [url, name] of [
    ['ssh://git@git.example.com/team/sub/deep.git', 'team/sub/deep'],
    ['ssh://git@git.example.com/srv/git/team/sub/deep.git', 'team/sub/deep'],
    ['ssh://git@git.example.com/srv/git/project.git', 'git/project'],
    ['ssh://git@git.example.com/home/git/repositories/team/sub/deep.git', 'team/sub/deep'],
    ['git@git.example.com:group/alice/hello.world-2.git', 'group/alice/hello.world-2'],
    ['git@git.example.com:project.git', 'git/project'],
    ['git@git.example.com:libstdc++', 'git/libstdc++'],
    ['git@git.example.com:~alice/hello.git', '~alice/hello'],
    ['git@git.example.com:repos/hello.git', 'repos/hello'],
    ['git.example.com:/var/lib/gitolite3/repositories/team/sub/deep.git', 'team/sub/deep'],
    ['git.example.com:/disk7/alice/hello.git', 'alice/hello'],
    ['https://git.example.com/git/team/sub/deep.git', 'team/sub/deep'],
    ['https://git.example.com/cgit/alice/hello', 'alice/hello'],
    ['https://git.example.com/project.git', 'git/project'],
    ['https://git.example.com/team/gtk%2B.git', 'team/gtk+'],
    ['https://git.example.com/team/git/tools.git', 'team/git/tools'],
    ['/srv/git/project', 'git/project'],
    ['/srv/git/team/sub/deep.git', 'team/sub/deep'],
    ['/srv/git/team/git/tools.git', 'team/git/tools'],
    ['file:///srv/git/team/sub/deep.git', 'team/sub/deep'],
    ['/home/alice/git/bob/hello.git', 'bob/hello'],
  ] as const)
    t.equal(repositoryAt(url), name, url)
  t.equal(repositoryAt('git@git.example.com:project.git', 'plain'), 'plain/project')
  t.end()
})

t.test('A URL that names no repository tells none', (t) => {
  for (const url of [
    '',
    '/',
    'https://git.example.com',
    'https://git.example.com/%zz.git',
    'https://git.example.com/a%20b/hello.git',
    'git@git.example.com:a/b/c/d/e/f/g/h/i.git',
    'hello',
    '/hello.git',
    '/srv/a b/hello',
    '../hello.git',
    'https://git.example.com/alice/.git',
  ])
    t.equal(repositoryAt(url), undefined, url)
  t.end()
})
