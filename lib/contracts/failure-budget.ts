/**
 * How many wrong log-ins a client may make. git and the API share one budget for each client. A success gives nothing
 * back; failures expire with their window. Replaceable by a host that counts in another place.
 */
export interface FailureBudget {
  /**
   * @param address IP address of the client; IPv4-mapped IPv6 counts as IPv4, IPv6 by /64
   * @returns whole seconds until credentials of this client are looked at again, 0 when they are
   */
  retryAfter(address: string): Promise<number>

  /**
   * Counts a log-in with wrong credentials.
   * @returns 0 when the failure was within the budget, else as `retryAfter`: of failures that were under way at the
   *   same time, those past the budget are refused
   */
  recordFailure(address: string): Promise<number>
}
