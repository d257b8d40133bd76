import t from 'tap'
import { DIALECTS } from '../../fixtures/api-client.js'
import { compatibleCreatorSuite } from '../../suites/compatible-creators.js'

for (const dialect of DIALECTS) compatibleCreatorSuite(t, dialect)
