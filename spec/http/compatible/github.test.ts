import t from 'tap'
import { DIALECTS } from '../../fixtures/api-client.js'
import { compatibleApiSuite } from '../../suites/compatible-api.js'
import { compatibleListSuite } from '../../suites/compatible-lists.js'

for (const dialect of DIALECTS.filter(({ name }) => name === 'github')) {
  compatibleApiSuite(t, dialect)
  compatibleListSuite(t, dialect)
}
