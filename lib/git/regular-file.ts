import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { quickStat } from './stat.js'

/**
 * Opens a file to be read, and never waits for it: to open a named pipe is to wait for whoever writes into it.
 * What is no regular file is refused, before it is opened, as to open a device may do something, and after.
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  refuse(path, await quickStat(path))
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    refuse(path, await file.stat())
    return file
    /* c8 ignore next 4 -- it takes a file that becomes a pipe between the two */
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The text of a file that has at most `maxBytes`; rejects as `openRegularFile`, and when there is more of it. */
export async function readSmallFile(path: string, maxBytes: number): Promise<string> {
  const file = await openRegularFile(path)
  try {
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let more = 1; more > 0; length += more) {
      more = (await file.read(bytes, length, bytes.length - length, null)).bytesRead
    }
    if (length > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`)
    return bytes.toString('utf8', 0, length)
  } finally {
    await file.close()
  }
}

function refuse(path: string, found: { isFile(): boolean }): void {
  if (!found.isFile()) throw new Error(`${path} is not a regular file`)
}
