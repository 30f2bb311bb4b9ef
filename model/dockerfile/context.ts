import { MayflyError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { isPattern, MOST_OF_A_PATTERN, PathPattern } from './patterns/glob.ts';
import { compileIgnore } from './patterns/ignored.ts';
import { normalizePath } from './patterns/paths.ts';
import { unsupportedAt } from './refusal.ts';

/** Sources and target of a step that copies. */
interface PlacedStep {
  sources: readonly string[];
  inline: readonly { name: string; content: string }[];
  line: number;
  target: string;
}

/** Entry of a build context. Devices and other special files are excluded. */
export interface ContextEntry {
  /** Relative to the context's root, without `.` or `..`. */
  path: string;
  type: 'file' | 'directory' | 'symlink';
  /** Permissions with setuid, setgid and sticky bit. */
  mode: number;
  /** Bytes. */
  size: number;
  /** SHA-256 of a file's bytes, hex. */
  digest: string | null;
  /** Target of a symbolic link. */
  link: string | null;
  /** Offset of a file's bytes in the archive. `@default` unknown */
  at?: number;
}

/** Entry that a COPY writes. */
export interface CopiedEntry {
  /** Path below the target; '' is the target itself, or the entry's name in it where the target is a folder. */
  as: string;
  entry: ContextEntry;
}

/** Pattern comparisons of a build: about 0.2 s. */
const MOST_COMPARISONS = 20_000_000;
/** Symbolic links followed for one path. */
const MOST_LINKS = 40;

/** Files of a build without those excluded by `.dockerignore`. */
export class BuildContext {
  readonly #entries = new Map<string, ContextEntry>();
  /** Sorted paths in each folder. */
  readonly #children = new Map<string, string[]>();
  #comparisons = 0;
  #copied = 0;

  /** @throws MayflyError invalid_request for too many, too long or too slow patterns */
  constructor(entries: readonly ContextEntry[], dockerignore = '') {
    const isIgnored = compileIgnore(dockerignore, undefined, this.#compare);
    const all = new Map(entries.map((entry) => [entry.path, entry]));
    for (const entry of all.values()) if (!isIgnored(entry.path)) this.#take(entry, all);
    for (const path of [...this.#entries.keys()].sort()) {
      const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      const names = this.#children.get(folder);
      if (names) names.push(path);
      else this.#children.set(folder, [path]);
    }
  }

  /**
   * Resolves the entries that a COPY writes below its target: the content of folders, and each file. A later source
   * overwrites an earlier one.
   * @throws MayflyError dockerfile_unsupported
   */
  placed(step: PlacedStep): CopiedEntry[] {
    const found = new Map<string, CopiedEntry>();
    const add = (as: string, entry: ContextEntry) => found.set(as, { as, entry });
    const paths = step.sources.flatMap((source) => this.#matching(source, step.line));
    const isAlone = paths.length + step.inline.length === 1 && !step.target.endsWith('/');
    if (paths.length + step.inline.length > 1 && !step.target.endsWith('/')) {
      throw unsupportedAt(
        step.line,
        `several things are copied to ${JSON.stringify(step.target)}, which does not end with /`,
      );
    }
    for (const path of paths) {
      const entry = this.#resolve(path, step.line);
      if (entry === 'root' || entry.type === 'directory') {
        const folder = entry === 'root' ? '' : entry.path;
        for (const each of this.#below(folder, []))
          add(folder === '' ? each.path : each.path.slice(folder.length + 1), each);
      } else add(isAlone ? '' : (path.split('/').at(-1) ?? ''), entry);
    }
    this.#copied += found.size;
    const { copiedEntries } = LIMITS.image;
    if (this.#copied > copiedEntries)
      throw unsupportedAt(step.line, `all COPYs together take at most ${copiedEntries} entries`);
    return [...found.values()];
  }

  /** Returns a file, or the entries below a folder; follows links. @throws MayflyError dockerfile_unsupported */
  at(path: string, line: number): ContextEntry | CopiedEntry[] {
    const entry = this.#resolve(path, line);
    if (entry !== 'root' && entry.type === 'file') return entry;
    const folder = entry === 'root' ? '' : entry.path;
    const start = folder === '' ? 0 : folder.length + 1;
    return this.#below(folder, []).map((each) => ({ as: each.path.slice(start), entry: each }));
  }

  readonly #compare = (comparisons: number): void => {
    this.#comparisons += comparisons;
    if (this.#comparisons <= MOST_COMPARISONS) return;
    throw new MayflyError('invalid_request', 'The patterns of .dockerignore and COPY take too long: use fewer `*`.');
  };

  /** Adds an entry with its parent folders. */
  #take(entry: ContextEntry, all: ReadonlyMap<string, ContextEntry>): void {
    this.#entries.set(entry.path, entry);
    const end = entry.path.lastIndexOf('/');
    if (end < 0 || this.#entries.has(entry.path.slice(0, end))) return;
    const path = entry.path.slice(0, end);
    const folder = all.get(path);
    this.#take(folder ?? { path, type: 'directory', mode: 0o755, size: 0, digest: null, link: null }, all);
  }

  #matching(source: string, line: number): string[] {
    const path = normalizePath(source);
    if (!isPattern(path)) return [path];
    if (path.length > MOST_OF_A_PATTERN) {
      throw unsupportedAt(line, `a pattern has at most ${MOST_OF_A_PATTERN} characters`);
    }
    const pattern = new PathPattern(path);
    const found = [...this.#entries.keys()].filter((each) => pattern.matches(each.split('/'), this.#compare)).sort();
    if (found.length === 0) throw unsupportedAt(line, `nothing in the context matches ${JSON.stringify(source)}`);
    return found;
  }

  /** Resolves a path with its links, which may not leave the context. */
  #resolve(path: string, line: number): ContextEntry | 'root' {
    let rest = path === '' ? [] : path.split('/');
    let at: string[] = [];
    for (let links = 0; rest.length > 0; ) {
      const [name = '', ...others] = rest;
      const entry = this.#entries.get([...at, name].join('/'));
      if (!entry)
        throw unsupportedAt(line, `${JSON.stringify(path)} is not in the context, or .dockerignore leaves it out`);
      if (entry.type === 'symlink') {
        links += 1;
        const to = links > MOST_LINKS ? null : resolveLink(at, entry.link ?? '');
        if (to === null) throw unsupportedAt(line, `${JSON.stringify(path)} is a link that leads out of the context`);
        rest = [...to, ...others];
        at = [];
      } else if (others.length === 0) return entry;
      else {
        at = [...at, name];
        rest = others;
      }
    }
    return 'root';
  }

  #below(folder: string, found: ContextEntry[]): ContextEntry[] {
    for (const path of this.#children.get(folder) ?? []) {
      const entry = this.#entries.get(path);
      if (!entry) continue;
      found.push(entry);
      if (entry.type === 'directory') this.#below(path, found);
    }
    return found;
  }
}

/** Resolves a link's target to a path from the context's root; null when it leaves the context. */
function resolveLink(folder: readonly string[], link: string): string[] | null {
  if (link.startsWith('/') || link === '') return null;
  const parts = [...folder];
  for (const part of link.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return null;
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}
