import { errorAnswer } from './exchange.js'
import type { MetricsText } from './prometheus.js'
import { originForm } from './request-target.js'
import type { Surface } from './surface.js'

/** The measurements, at `/metrics`. */
export function metricsSurface(read: () => Promise<MetricsText>): Surface {
  return {
    addressOf(request) {
      const url = originForm(String(request.url))
      return /^\/metrics(?:\?|$)/.test(url) ? url : undefined
    },
    routes: [
      {
        name: 'metrics',
        method: 'GET',
        path: /^\/metrics$/,
        isAlwaysOpen: true,
        operation: async () => {
          const { contentType, text } = await read()
          return { status: 200, body: Buffer.from(text), headers: { 'Content-Type': contentType } }
        },
      },
    ],
    refuse: errorAnswer,
  }
}
