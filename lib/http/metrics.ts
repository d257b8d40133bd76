import { ServiceError } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Meter } from '../meter.js'
import type { MetricsText } from '../prometheus.js'
import { Exchange, otherMethod, refusal } from './answer.js'
import { originForm, type Handler } from './handler.js'

/** Answers `GET /metrics`; calls `next` for the rest, or refuses it where there is none. */
export function metricsHandler(parts: { metrics: () => Promise<MetricsText>; logger: Logger; meter: Meter }): Handler {
  return (request, response, next) => {
    const isOurs = /^\/metrics(?:\?|$)/.test(originForm(String(request.url)))
    if (!isOurs && next) {
      next()
      return
    }
    void new Exchange(request, response, 'metrics', parts).answer(async () => {
      if (!isOurs) return refusal(new ServiceError('path_unknown'))
      if (request.method !== 'GET' && request.method !== 'HEAD') return otherMethod('GET, HEAD')
      const { contentType, text } = await parts.metrics()
      return { status: 200, body: Buffer.from(text), headers: { 'Content-Type': contentType } }
    })
  }
}
