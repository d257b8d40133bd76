import { ServiceError } from '../errors.js'
import type { Logger } from '../contracts/logger.js'
import type { Meter } from '../contracts/meter.js'
import { errorAnswer, Exchange, methodNotAllowed } from './exchange.js'
import type { Handler } from './dispatcher.js'
import { originForm } from './request-target.js'
import type { MetricsText } from './prometheus.js'

/** Answers `GET /metrics`; calls `next` for the rest, or refuses it where there is none. */
export function metricsHandler(parts: { metrics: () => Promise<MetricsText>; logger: Logger; meter: Meter }): Handler {
  return (request, response, next) => {
    const isOurs = /^\/metrics(?:\?|$)/.test(originForm(String(request.url)))
    if (!isOurs && next) {
      next()
      return
    }
    void new Exchange(request, response, 'metrics', parts).answer(async () => {
      if (!isOurs) return errorAnswer(new ServiceError('path_unknown'))
      if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed('GET, HEAD')
      const { contentType, text } = await parts.metrics()
      return { status: 200, body: Buffer.from(text), headers: { 'Content-Type': contentType } }
    })
  }
}
