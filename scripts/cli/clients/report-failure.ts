/** The service answered, and not with 201: the same report would be refused again. */
export class ReportRefused extends Error {
  override readonly name = 'ReportRefused'
}

/** Nothing came of it in time. Whether a report that got no answer was saved is not known; repeating it is harmless. */
export class ServiceNotReached extends Error {
  override readonly name = 'ServiceNotReached'
}
