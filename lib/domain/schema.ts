import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'

/** What is wrong with a value, and where. */
export type SchemaError = ErrorObject

/** What a value must be, in words: never by a regular expression. */
export function ruleText({ keyword, params, parentSchema, message }: SchemaError): string {
  const description: unknown = parentSchema?.['description']
  if (/^(?:pattern|format|contains|minProperties)$/.test(keyword) && typeof description === 'string')
    return `must be ${description}`
  const allowed: unknown = params['allowedValues']
  return Array.isArray(allowed) ? `must be one of ${allowed.join(', ')}` : String(message)
}

/**
 * A JSON schema of this program's own, to check values by. It is made ready at its first use: that takes milliseconds,
 * and a command needs few of all there are.
 */
export class Schema<T> {
  readonly #schema: object
  readonly #options: Pick<Options, 'formats' | 'ownProperties'>
  #validate: ValidateFunction<T> | undefined
  #errors: readonly SchemaError[] = []

  constructor(schema: object, options: Pick<Options, 'formats' | 'ownProperties'> = {}) {
    this.#schema = schema
    this.#options = options
  }

  // A function of its own, to be handed on.
  readonly is = (value: unknown): value is T => {
    // The specs have found every schema to be one; to look again at each start would take as long as everything else.
    this.#validate ??= new Ajv({
      strict: true,
      allowUnionTypes: true,
      verbose: true,
      meta: false,
      validateSchema: false,
      ...this.#options,
    }).compile<T>(this.#schema)
    const isValid = this.#validate(value)
    this.#errors = this.#validate.errors ?? []
    return isValid
  }

  /** What was wrong with the last value, if anything. */
  get errors(): readonly SchemaError[] {
    return this.#errors
  }
}
