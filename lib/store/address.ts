/** The folder that the address of a LevelDB store names: `level:` and a folder. */
export function levelFolder(address: string): string {
  if (!address.startsWith('level:')) throw new TypeError(`no store of this kind: ${address}`)
  return address.slice('level:'.length)
}
