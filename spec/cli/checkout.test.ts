import t from 'tap'
import { repositoryAt } from '../../scripts/cli/git/checkout.js'

t.test('A repository is told from every form of URL that git takes', async (t) => {
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
  t.equal(repositoryAt('git@git.example.com:group/alice/hello.world-2.git'), 'alice/hello.world-2')
})

t.test('A URL that does not end in an owner and a repository tells none', async (t) => {
  for (const url of [
    '',
    '/',
    'https://git.example.com',
    'https://git.example.com/hello.git',
    'git.example.com:hello.git',
    'git@git.example.com:~alice/hello.git',
    'hello',
    '/srv/a b/hello',
    '../hello.git',
    'https://git.example.com/alice/.git',
  ]) {
    t.equal(repositoryAt(url), undefined, url)
  }
})
