import { tar } from '../disk/tar.ts';

/** Options of tar: all attributes but access and change time; raw names, sorted, numeric owners. */
const OPTIONS =
  '--create --file=- --format=pax --pax-option=delete=atime,delete=ctime --sort=name --numeric-owner --xattrs ' +
  '--xattrs-include=* --null --verbatim-files-from --files-from=-';

/**
 * Archives files of a tree by GNU tar, which follows no symbolic link that it is given or finds. The caller must check
 * the parent folders of the names.
 * @param names bytes as Latin-1, relative to the root
 * @throws Error when not all of it could be read; the signal's reason
 */
export function archiveOf(
  root: string,
  names: readonly string[],
  { recursive }: { recursive: boolean },
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const depth = recursive ? '--recursion' : '--no-recursion';
  const list = Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
  return tar([`--directory=${root}`, depth, ...OPTIONS.split(' ')], list, signal);
}
