/**
 * Paths of Mayfly's own files in every guest: the agent with its data, and keys, settings and revocations for sshd. A
 * trailing `*` matches any suffix. Comparisons exclude these paths and everything below them.
 */
export const MAYFLY_FILES = [
  '/var/lib/mayfly',
  '/opt/mayfly',
  '/etc/ssh/mayfly_*',
  '/etc/ssh/sshd_config.d/mayfly*',
] as const;

/** Reports whether a guest path is one of {@link MAYFLY_FILES}, or below one. */
export function isMayflyFile(path: string): boolean {
  return MAYFLY_FILES.some((own) =>
    own.endsWith('*') ? path.startsWith(own.slice(0, -1)) : path === own || path.startsWith(`${own}/`),
  );
}
