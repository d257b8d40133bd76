import { Readable } from 'node:stream'
import getRawBody from 'raw-body'

/** The body of an answer. Of one that is longer than the limit the rest is let go: nobody hears when it fails later. */
export async function answerText({ body }: Response, limit: number): Promise<string> {
  if (!body) return ''
  const stream = Readable.fromWeb(body)
  try {
    return await getRawBody(stream, { limit, encoding: 'utf8' })
  } finally {
    stream.destroy()
  }
}
