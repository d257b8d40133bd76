import t from 'tap'
import { hostCommit } from '../../fixtures/hosted-commit.js'
import { DIALECTS } from '../../fixtures/api-client.js'
import { compatibleApiSuite } from '../../suites/compatible-api.js'
import { compatibleListSuite } from '../../suites/compatible-lists.js'

for (const dialect of DIALECTS.filter(({ name }) => name === 'gitlab')) {
  compatibleApiSuite(t, dialect)
  compatibleListSuite(t, dialect)
}

t.test('Nobody acts for another by a field of the body', async (t) => {
  const { service, sha, token, stored } = await hostCommit(t)
  for (const body of ['state=success&name=x&sudo=bob', '{"state":"success","name":"x","sudo":"bob"}']) {
    const { status } = await fetch(`${service.url}/api/v4/projects/alice%2Fhello/statuses/${sha}`, {
      method: 'POST',
      headers: { 'PRIVATE-TOKEN': token },
      body,
    })
    t.equal(status, 403)
  }
  t.strictSame(await stored(), [])
})
