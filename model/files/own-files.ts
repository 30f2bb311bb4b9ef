/** Files that Mayfly keeps in every guest: its agent and what that stores, the keys, settings and revocations for sshd. */
const OWN =
  /^(?:\/var\/lib\/mayfly|\/opt\/mayfly|\/etc\/ssh\/mayfly_[^/]*|\/etc\/ssh\/sshd_config\.d\/mayfly[^/]*)(?:\/|$)/;

/** Whether a path of a guest is of Mayfly's own files, which no comparison lists. */
export function isOwnFile(path: unknown): boolean {
  return typeof path === 'string' && OWN.test(path);
}
