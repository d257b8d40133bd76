/** Codes of OpenSSL and of Node.js: the certificate of the service is not one that is trusted here. */
const CODES =
  /^(?:CERT_|ERR_TLS_CERT|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|INVALID_CA|INVALID_PURPOSE|HOSTNAME_)/

/** What to do about a certificate that is not trusted, which does not mend itself; `undefined` for other failures. */
export function certificateAdvice(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && CODES.test(String(error.code)))
    return 'if an internal CA has signed it, name its certificate with NODE_EXTRA_CA_CERTS=/path/of/ca.pem'
  return certificateAdvice(error.cause)
}
