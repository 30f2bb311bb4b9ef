import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { ContextEntry } from '../dockerfile/context.ts';
import { MayflyError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { joined, type TarEntry } from './tar.ts';
import { type TarHead, TarScanner, tarEntries } from './tar-scanner.ts';

/** What is known of a context without its bytes. */
export interface SentContext {
  entries: ContextEntry[];
  dockerignore: string;
  /** SHA-256 of the archive, hexadecimal, of one that is kept by itself. `@default` its bytes are kept with the build */
  digest?: string;
}

/** A digest that is made piece by piece. */
export interface Sha256 {
  update(bytes: Uint8Array): unknown;
  hex(): string;
}

/** Of `.dockerignore`. */
const MOST_OF_IGNORE = 1_048_576;

/** Describes an archive as it comes. */
export class ContextReader {
  readonly #scanner = new TarScanner({ entry: (head) => this.#entry(head), content: (piece) => this.#content(piece) });
  readonly #newDigest: () => Sha256;
  readonly #found = new Map<string, ContextEntry>();
  #ignore: Uint8Array[] = [];
  #file: { entry: ContextEntry; digest: Sha256 } | null = null;

  constructor(newDigest: () => Sha256) {
    this.#newDigest = newDigest;
  }

  /** @throws MayflyError invalid_request */
  push(chunk: Uint8Array): void {
    this.#scanner.push(chunk);
  }

  /** @throws MayflyError invalid_request */
  end(): SentContext {
    this.#scanner.end();
    this.#finishFile();
    const isIgnore = this.#found.get(IGNORE)?.type === 'file';
    const dockerignore = isIgnore ? new TextDecoder().decode(joined(this.#ignore)) : '';
    return { entries: [...this.#found.values()], dockerignore };
  }

  #entry({ path: said, type, mode, size, at, link }: TarHead): void {
    this.#finishFile();
    const path = placeOf(said, this.#found);
    if (path === '') return;
    const plain = { path, type, mode: type === 'symlink' ? 0o777 : mode, size, digest: null, link };
    const entry: ContextEntry = type === 'file' ? { ...plain, at } : plain;
    this.#found.set(path, entry);
    if (this.#found.size > LIMITS.image.contextEntries) {
      throw refused(`it has more than ${LIMITS.image.contextEntries} entries`);
    }
    if (path === IGNORE) this.#ignore = [];
    if (path === IGNORE && size > MOST_OF_IGNORE) throw refused(`${IGNORE} has more than ${MOST_OF_IGNORE} bytes`);
    if (type === 'file') this.#file = { entry, digest: this.#newDigest() };
  }

  #content(piece: Uint8Array): void {
    this.#file?.digest.update(piece);
    if (this.#file?.entry.path === IGNORE) this.#ignore.push(piece.slice());
  }

  #finishFile(): void {
    if (this.#file) this.#file.entry.digest = this.#file.digest.hex();
    this.#file = null;
  }
}

const IGNORE = '.dockerignore';

/** What stands in an archive, described. @throws MayflyError invalid_request, body_too_large */
export function describedContext(archive: Uint8Array): SentContext {
  if (archive.length > LIMITS.image.contextBytes) {
    throw new MayflyError('body_too_large', `A context has at most ${LIMITS.image.contextBytes} bytes.`);
  }
  const reader = new ContextReader(() => {
    const digest = sha256.create();
    return { update: (bytes) => digest.update(bytes), hex: () => bytesToHex(digest.digest()) };
  });
  reader.push(archive);
  return reader.end();
}

/** By path; of two of one path the later. */
export function filesOf(archive: Uint8Array): Map<string, TarEntry> {
  const found = new Map<string, TarEntry>();
  for (const entry of tarEntries(archive)) {
    const path = placeOf(entry.path, found);
    if (path !== '') found.set(path, { ...entry, path });
  }
  return found;
}

/**
 * Where an entry stands: nothing stands above the root, or below what is no folder.
 * @throws MayflyError invalid_request
 */
function placeOf(said: string, found: ReadonlyMap<string, Pick<TarEntry, 'type'>>): string {
  const parts = said.split('/').filter((part) => part !== '' && part !== '.');
  if (said.startsWith('/') || parts.includes('..')) throw refused(`${JSON.stringify(said)} is outside of it`);
  const path = parts.join('/');
  if (path.includes('\0')) throw refused('a name has a NUL');
  const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
  const blocking = above.find((folder) => (found.get(folder)?.type ?? 'directory') !== 'directory');
  if (blocking === undefined) return path;
  throw refused(`${JSON.stringify(said)} is below ${JSON.stringify(blocking)}, which is no folder`);
}

function refused(problem: string): MayflyError {
  const why = `The context is not taken: ${problem}.`;
  return new MayflyError('invalid_request', why, { fields: [{ field: 'context', problem }] });
}
