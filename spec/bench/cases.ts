import { citusCase } from './citus-case.js'
import { duringCommands, statusList } from './command-cases.js'
import { compatibleCase } from './compatible.js'
import { contextsCase } from './contexts-case.js'
import { firstLooks, pushesCase } from './first-time-cases.js'
import { farDatabaseCase } from './far-database-case.js'
import { hostingCases } from './hosting-cases.js'
import { largeStore } from './large-store.js'
import { layoutsCase } from './layout-cases.js'
import { firstConfirmation, flood } from './look-up-cases.js'
import { postgresCase } from './postgres.js'
import type { Case } from './setting.js'
import { shareCases } from './share-cases.js'
import { webhooksCase } from './webhooks-case.js'

/** In the order of the table. */
export const cases: readonly Case[] = [
  ...shareCases,
  ...hostingCases,
  firstLooks,
  pushesCase,
  layoutsCase,
  compatibleCase,
  contextsCase,
  webhooksCase,
  flood,
  largeStore,
  duringCommands,
  firstConfirmation,
  statusList,
  postgresCase,
  citusCase,
  farDatabaseCase,
]
