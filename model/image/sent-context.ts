import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { ContextEntry } from '../dockerfile/context.ts';
import { MayflyError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { type TarEntry, tarEntries } from './tar.ts';

/** What is known of a context without its bytes. */
export interface SentContext {
  entries: ContextEntry[];
  dockerignore: string;
}

/** What stands in an archive, described. @throws MayflyError invalid_request, body_too_large */
export function describedContext(archive: Uint8Array): SentContext {
  if (archive.length > LIMITS.image.contextBytes) {
    throw new MayflyError('body_too_large', `A context has at most ${LIMITS.image.contextBytes} bytes.`);
  }
  const all = filesOf(archive);
  const entries = [...all].map(([path, { type, mode, bytes, link }]) => ({
    path,
    type,
    mode: type === 'symlink' ? 0o777 : mode,
    size: bytes.length,
    digest: type === 'file' ? bytesToHex(sha256(bytes)) : null,
    link,
  }));
  if (entries.length > LIMITS.image.contextEntries) {
    throw refused(`it has more than ${LIMITS.image.contextEntries} entries`);
  }
  const ignore = all.get('.dockerignore');
  return { entries, dockerignore: ignore?.type === 'file' ? new TextDecoder().decode(ignore.bytes) : '' };
}

/** By path; of two of one path the later. Nothing stands above the root, or below what is no folder. */
export function filesOf(archive: Uint8Array): Map<string, TarEntry> {
  const found = new Map<string, TarEntry>();
  for (const entry of tarEntries(archive)) {
    const parts = entry.path.split('/').filter((part) => part !== '' && part !== '.');
    if (entry.path.startsWith('/') || parts.includes('..')) {
      throw refused(`${JSON.stringify(entry.path)} is outside of it`);
    }
    const path = parts.join('/');
    if (path.includes('\0')) throw refused('a name has a NUL');
    const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
    const blocking = above.find((folder) => (found.get(folder)?.type ?? 'directory') !== 'directory');
    if (blocking !== undefined)
      throw refused(`${JSON.stringify(entry.path)} is below ${JSON.stringify(blocking)}, which is no folder`);
    if (path !== '') found.set(path, { ...entry, path });
  }
  return found;
}

function refused(problem: string): MayflyError {
  const why = `The context is not taken: ${problem}.`;
  return new MayflyError('invalid_request', why, { fields: [{ field: 'context', problem }] });
}
