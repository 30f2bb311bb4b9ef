import { MayflyError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { isPattern, MOST_OF_A_PATTERN, PathPattern } from './patterns/glob.ts';
import { ignoredBy } from './patterns/ignored.ts';
import { cleaned } from './patterns/paths.ts';
import { refusedAt } from './refusal.ts';

/** What a step that copies says of what, and of where to. */
interface PlacedStep {
  sources: readonly string[];
  inline: readonly { name: string; content: string }[];
  line: number;
  target: string;
}

/** What a context has under one path. Devices and the like are in none. */
export interface ContextEntry {
  /** Below the context's root, without `.` or `..`. */
  path: string;
  type: 'file' | 'directory' | 'symlink';
  /** Permissions and the three bits above them. */
  mode: number;
  /** Bytes. */
  size: number;
  /** SHA-256 of a file's bytes, hexadecimal. */
  digest: string | null;
  /** What a link says. */
  link: string | null;
  /** Where a file's bytes begin in the archive. `@default` nobody has said */
  at?: number;
}

/** One thing that a COPY puts somewhere. */
export interface Placed {
  /** Below the target; '' is the target itself, or a name in it where that is a folder. */
  as: string;
  entry: ContextEntry;
}

/** Of all patterns of a build with all paths of its context: about a fifth of a second. */
const MOST_COMPARISONS = 20_000_000;
/** Links that are followed on the way to one path. */
const MOST_LINKS = 40;

/** The files that a build is given, without what `.dockerignore` leaves out. */
export class BuildContext {
  readonly #entries = new Map<string, ContextEntry>();
  /** Names in each folder, sorted. */
  readonly #children = new Map<string, string[]>();
  #comparisons = 0;
  #copied = 0;

  /** @throws MayflyError invalid_request */
  constructor(entries: readonly ContextEntry[], dockerignore = '') {
    const isIgnored = ignoredBy(dockerignore, undefined, this.#compare);
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
   * What a COPY puts below its target: of a folder its content, of several things each; what comes later takes the place of
   * what came before.
   * @throws MayflyError dockerfile_unsupported
   */
  placed(step: PlacedStep): Placed[] {
    const found = new Map<string, Placed>();
    const add = (as: string, entry: ContextEntry) => found.set(as, { as, entry });
    const paths = step.sources.flatMap((source) => this.#matching(source, step.line));
    const isAlone = paths.length + step.inline.length === 1 && !step.target.endsWith('/');
    if (paths.length + step.inline.length > 1 && !step.target.endsWith('/')) {
      throw refusedAt(
        step.line,
        `several things are copied to ${JSON.stringify(step.target)}, which does not end with /`,
      );
    }
    for (const path of paths) {
      const entry = this.#resolved(path, step.line);
      if (entry === 'root' || entry.type === 'directory') {
        const folder = entry === 'root' ? '' : entry.path;
        for (const each of this.#below(folder, []))
          add(folder === '' ? each.path : each.path.slice(folder.length + 1), each);
      } else add(isAlone ? '' : (path.split('/').at(-1) ?? ''), entry);
    }
    this.#copied += found.size;
    const { copiedEntries } = LIMITS.image;
    if (this.#copied > copiedEntries)
      throw refusedAt(step.line, `all COPYs together take at most ${copiedEntries} entries`);
    return [...found.values()];
  }

  /**
   * One file, or what is in a folder, below it; links followed.
   * @throws MayflyError dockerfile_unsupported
   */
  at(path: string, line: number): ContextEntry | Placed[] {
    const entry = this.#resolved(path, line);
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

  /** With the folders that it is in, as far as they are there. */
  #take(entry: ContextEntry, all: ReadonlyMap<string, ContextEntry>): void {
    this.#entries.set(entry.path, entry);
    const end = entry.path.lastIndexOf('/');
    if (end < 0 || this.#entries.has(entry.path.slice(0, end))) return;
    const path = entry.path.slice(0, end);
    const folder = all.get(path);
    this.#take(folder ?? { path, type: 'directory', mode: 0o755, size: 0, digest: null, link: null }, all);
  }

  #matching(source: string, line: number): string[] {
    const path = cleaned(source);
    if (!isPattern(path)) return [path];
    if (path.length > MOST_OF_A_PATTERN) {
      throw refusedAt(line, `a pattern has at most ${MOST_OF_A_PATTERN} characters`);
    }
    const pattern = new PathPattern(path);
    const found = [...this.#entries.keys()].filter((each) => pattern.matches(each.split('/'), this.#compare)).sort();
    if (found.length === 0) throw refusedAt(line, `nothing in the context matches ${JSON.stringify(source)}`);
    return found;
  }

  /** What is at a path, links followed; they may not lead out of the context. */
  #resolved(path: string, line: number): ContextEntry | 'root' {
    let rest = path === '' ? [] : path.split('/');
    let at: string[] = [];
    for (let links = 0; rest.length > 0; ) {
      const [name = '', ...others] = rest;
      const entry = this.#entries.get([...at, name].join('/'));
      if (!entry)
        throw refusedAt(line, `${JSON.stringify(path)} is not in the context, or .dockerignore leaves it out`);
      if (entry.type === 'symlink') {
        links += 1;
        const to = links > MOST_LINKS ? null : within(at, entry.link ?? '');
        if (to === null) throw refusedAt(line, `${JSON.stringify(path)} is a link that leads out of the context`);
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

/** Where a link in a folder leads, from the root of the context; null: out of it. */
function within(folder: readonly string[], link: string): string[] | null {
  if (link.startsWith('/') || link === '') return null;
  const parts = [...folder];
  for (const part of link.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return null;
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}
