/**
 * The abstract Unix socket that the host worker of a state folder holds. The kernel lets go of it the moment its holder
 * dies, so nothing stale is ever left (unix(7)).
 */
export function hostLockOf(stateDir: string): string {
  return `\0mayfly-host:${stateDir}`;
}
