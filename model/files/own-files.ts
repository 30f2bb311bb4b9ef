/**
 * Paths of the files that Mayfly keeps in every guest: its agent and what that stores, the keys, settings and revocations
 * for sshd. A `*` at the end stands for all that begin so. No comparison has them, or what is below them.
 */
export const OWN_FILES = [
  '/var/lib/mayfly',
  '/opt/mayfly',
  '/etc/ssh/mayfly_*',
  '/etc/ssh/sshd_config.d/mayfly*',
] as const;

/** Returns whether a path of a guest is one of {@link OWN_FILES}, or below one. */
export function isOwnFile(path: string): boolean {
  return OWN_FILES.some((own) =>
    own.endsWith('*') ? path.startsWith(own.slice(0, -1)) : path === own || path.startsWith(`${own}/`),
  );
}
