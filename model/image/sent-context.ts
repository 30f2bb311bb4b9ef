import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { ContextEntry } from '../dockerfile/context.ts';
import { MayflyError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { concatBytes, type TarEntry } from './tar.ts';
import { type TarHeader, TarScanner, tarEntries } from './tar-scanner.ts';

/** Description of a context without its bytes. */
export interface ContextDescription {
  entries: ContextEntry[];
  dockerignore: string;
  /** SHA-256 of a separately stored archive, hex. `@default` stored with the build */
  digest?: string;
}

/** Incremental digest. */
interface Sha256 {
  update(bytes: Uint8Array): unknown;
  hex(): string;
}

/** Bytes of `.dockerignore`. */
const MOST_OF_IGNORE = 1_048_576;

/** Describes an archive while it is received. */
export class ContextReader {
  readonly #scanner = new TarScanner({ entry: (head) => this.#entry(head), content: (piece) => this.#content(piece) });
  readonly #newDigest: () => Sha256;
  readonly #found = new Map<string, ContextEntry>();
  readonly #tree = new ContextTree();
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
  end(): ContextDescription {
    this.#scanner.end();
    this.#finishFile();
    const isIgnore = this.#found.get(IGNORE)?.type === 'file';
    const dockerignore = isIgnore ? new TextDecoder().decode(concatBytes(this.#ignore)) : '';
    return { entries: [...this.#found.values()], dockerignore };
  }

  #entry({ path: said, type, mode, size, at, link }: TarHeader): void {
    this.#finishFile();
    const path = this.#tree.add(said, type);
    if (path === '') return;
    const plain = { path, type, mode: type === 'symlink' ? 0o777 : mode, size, digest: null, link };
    const entry: ContextEntry = type === 'file' ? { ...plain, at } : plain;
    this.#found.set(path, entry);
    if (path === IGNORE) this.#ignore = [];
    if (path === IGNORE && size > MOST_OF_IGNORE)
      throw invalidContext(`${IGNORE} has more than ${MOST_OF_IGNORE} bytes`);
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

/** Describes an archive. @throws MayflyError invalid_request, body_too_large */
export function describeContext(archive: Uint8Array): ContextDescription {
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

/** Indexes entries by path; the last duplicate wins. */
export function indexFiles(archive: Uint8Array): Map<string, TarEntry> {
  const found = new Map<string, TarEntry>();
  const tree = new ContextTree();
  for (const entry of tarEntries(archive)) {
    const path = tree.add(entry.path, entry.type);
    if (path !== '') found.set(path, { ...entry, path });
  }
  return found;
}

/** Paths of an archive, including implicit folders. */
class ContextTree {
  readonly #types = new Map<string, TarEntry['type']>();

  /**
   * Normalizes an entry's path. Refuses paths outside the root, below a non-folder, or a file in place of a folder.
   * @throws MayflyError invalid_request
   */
  add(said: string, type: TarEntry['type']): string {
    const parts = said.split('/').filter((part) => part !== '' && part !== '.');
    if (said.startsWith('/') || parts.includes('..')) throw invalidContext(`${JSON.stringify(said)} is outside of it`);
    const path = parts.join('/');
    if (path.includes('\0')) throw invalidContext('a name has a NUL');
    if (path === '') return path;
    this.#addFolders(path, said);
    if (type !== 'directory' && this.#types.get(path) === 'directory') {
      throw invalidContext(`${JSON.stringify(said)} is a folder, and then none`);
    }
    this.#set(path, type);
    return path;
  }

  /** Adds parent folders up to the first known one, so each is examined once. */
  #addFolders(path: string, said: string): void {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      const type = this.#types.get(folder);
      if (type === 'directory') return;
      if (type) throw invalidContext(`${JSON.stringify(said)} is below ${JSON.stringify(folder)}, which is no folder`);
      this.#set(folder, 'directory');
    }
  }

  #set(path: string, type: TarEntry['type']): void {
    this.#types.set(path, type);
    const most = LIMITS.image.contextEntries;
    if (this.#types.size > most) throw invalidContext(`it has more than ${most} entries`);
  }
}

function invalidContext(problem: string): MayflyError {
  const why = `The context is not taken: ${problem}.`;
  return new MayflyError('invalid_request', why, { fields: [{ field: 'context', problem }] });
}
