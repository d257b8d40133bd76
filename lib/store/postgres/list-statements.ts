import type { Statement } from './connection.js'
import { COLUMNS, digestExpression } from './status-columns.js'

/**
 * Rows of each commit: none if its digest equals `known`, or if both are empty; one with a null digest if its last
 * status has gone; else one for each status. Each commit is looked up apart: with `sha = ANY (…)`, or without the
 * inner order, PostgreSQL may think that reading the whole repository is as good. Names, commits and digests are texts
 * with commas between, which none of them has: `pg` takes longer to write arrays than for all the rest.
 * @param repositories what is unnested beside the commits, with its name in `asked`
 * @param repository an expression for the one of a commit
 */
const lists = (repositories: string, asked: string, repository: string): string => `SELECT c.at, d.digest, s.*
FROM unnest(${repositories}string_to_array($2, ' '), string_to_array($3, ' ', '')) WITH ORDINALITY
  AS c (${asked}commit, known, at)
CROSS JOIN LATERAL (SELECT ${digestExpression('f')} AS digest FROM (SELECT * FROM commit_status.statuses
  WHERE repository = ${repository} AND sha = decode(c.commit, 'hex')
  ORDER BY context LIMIT $4) AS f) AS d
LEFT JOIN LATERAL (SELECT ${COLUMNS} FROM commit_status.statuses
  WHERE repository = ${repository} AND sha = decode(c.commit, 'hex')
  ORDER BY context LIMIT $4) AS s ON true
WHERE d.digest IS DISTINCT FROM c.known ORDER BY c.at, s.context`

/** Lists of several repositories. */
export const LISTS: Statement = {
  name: 'lists',
  text: lists("string_to_array($1, ' '), ", 'in_repository, ', "convert_to(c.in_repository, 'UTF8')"),
}

/** Lists of one repository: all of it is on one shard. */
export const LISTS_OF_ONE: Statement = { name: 'lists-of-one', text: lists('', '', '$1::bytea') }

/** The digest of a commit without statuses is null. */
export const DIGESTS: Statement = {
  name: 'digests',
  text: `SELECT c.at, (SELECT ${digestExpression('s')}
  FROM commit_status.statuses AS s WHERE s.repository = c.in_repository AND s.sha = c.commit) AS digest
FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS c (in_repository, commit, at)`,
}

/** Commits of several repositories: Citus asks the shards that these are on, each for all of them. */
const ASKED = `FROM commit_status.statuses AS s
JOIN unnest($1::bytea[], $2::bytea[]) AS c (in_repository, commit)
  ON s.repository = c.in_repository AND s.sha = c.commit
WHERE s.repository = ANY ($1::bytea[])`

/** Digests of commits that have statuses. */
export const DIGESTS_OVER_SHARDS: Statement = {
  name: 'digests-over-shards',
  text: `SELECT s.repository, s.sha, ${digestExpression('s')} AS digest, count(*)::int AS contexts
${ASKED} GROUP BY s.repository, s.sha`,
}

export const LISTS_OVER_SHARDS: Statement = {
  name: 'lists-over-shards',
  text: `SELECT s.repository, ${COLUMNS} ${ASKED} ORDER BY s.context`,
}

/** Rows that are read at a time. */
export const PAGE_ROWS = 500

export const PAGE: Statement = {
  name: 'page',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND (sha, context) > ($2, $3)
ORDER BY sha, context LIMIT ${PAGE_ROWS}`,
}

export const PAGE_OF: Statement = {
  name: 'page-of-commit',
  text: `SELECT ${COLUMNS} FROM commit_status.statuses WHERE repository = $1 AND sha = $2 AND context > $3
ORDER BY context LIMIT ${PAGE_ROWS}`,
}
