import type { Diffs } from '../../clients/typescript/diff.ts';
import type { CommandsBetween, ComparedState, FileChange } from '../../clients/typescript/http/openapi.ts';
import type { FileComparison } from '../../model/files/file-comparison.ts';
import { quotedPath } from '../../model/files/guest-name.ts';
import { LIMITS } from '../../model/limits.ts';
import { commandRow } from '../command/command-text.ts';
import { writeAtomically } from '../copy/local-file.ts';
import { rawArgument } from '../copy/side.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from '../snapshot/named.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { flag, JSON_OPTION, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { columns, type Io, printable } from '../terminal/io.ts';
import { ChangeList } from './change-list.ts';
import { growthOf, growthText, isOnlyTouched } from './change-text.ts';

/** Parts of a path by which changes are summed up: `/usr/lib`. */
const DEPTH = 2;
const HEADER = ['FOLDER', 'ADDED', 'CHANGED', 'REMOVED', 'RENAMED', 'SIZE'];

interface Sum {
  added: number;
  changed: number;
  removed: number;
  renamed: number;
  bytes: number;
}

/** Sums changes by folder. */
export class FolderSums {
  readonly #io: Io;
  readonly #sums = new Map<string, Sum>();

  constructor(io: Io) {
    this.#io = io;
  }

  add(change: FileChange): void {
    if (isOnlyTouched(change)) return;
    const folder = folderOf(change);
    const sum = this.#sums.get(folder) ?? { added: 0, changed: 0, removed: 0, renamed: 0, bytes: 0 };
    sum[change.change]++;
    sum.bytes += growthOf(change);
    this.#sums.set(folder, sum);
  }

  /** No-op: sums are known at the end. */
  flush(): void {}

  end(): void {
    const rows = [...this.#sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([folder, sum]) => rowOf(folder, sum));
    if (rows.length === 0) return;
    for (const line of columns(HEADER, rows)) this.#io.print(line);
  }
}

function rowOf(folder: string, { added, changed, removed, renamed, bytes }: Sum): string[] {
  const counts = [added, changed, removed, renamed].map((count) => (count === 0 ? '-' : String(count)));
  return [folder, ...counts, growthText(bytes) || '-'];
}

function folderOf({ path }: FileChange): string {
  const shown = quotedPath(path);
  const parts = shown.split('/').slice(0, -1);
  return parts.slice(0, DEPTH + 1).join('/') || '/';
}

const WHY = {
  same: 'is the same in both',
  binary: 'is not text',
  'too-large': 'is too large to be compared as text',
};

/** Prints the text of one file: as a patch for a program; for a person escaped and coloured. */
export async function printFile(io: Io, { path, before, after, kind, diff }: FileComparison): Promise<void> {
  if (kind !== 'text') {
    const sizes = [before, after].map((side) => (side ? size(side.size) : 'absent'));
    io.print(printable(`${quotedPath(path)} ${WHY[kind]}: ${sizes.join(' → ')}`));
  } else if (!io.isTerminal) {
    await io.write('stdout', Buffer.from(diff ?? ''));
  } else {
    for (const line of (diff ?? '').replace(/\n$/, '').split('\n')) io.print(colourLine(io, line));
  }
}

function colourLine(io: Io, line: string): string {
  const shown = line.replaceAll('\t', '        ');
  if (/^(?:---|\+\+\+) /.test(line)) return io.paint('bold', shown);
  if (line.startsWith('@@')) return io.paint('dim', shown);
  if (line.startsWith('+')) return io.paint('green', shown);
  return line.startsWith('-') ? io.paint('red', shown) : printable(shown);
}

const EXAMPLE = 'mayfly diff snp-… current /etc';

interface Pair {
  a: string;
  b: string;
  paths: Buffer[];
}

/** `mayfly diff`: exits with 0 whether or not there are differences. */
export const diffCommand = customCommand({
  args: {
    a: positional(SNAPSHOT),
    b: positional('Another snapshot on that host; or `current`'),
    path: { type: 'positional', description: 'Only these files and folders, and all below them', required: false },
    stat: flag('Sum up by folder'),
    file: option('What changed in the text of this one file', 'path'),
    tar: option('Write what was added or changed as an archive; `-`: stdout', 'file'),
    ...JSON_OPTION,
  },
  repeatable: ['path'],
  async run({ io, args, repeated, connect }) {
    const paths = repeated('path').map(absolute);
    const { stat, file, tar, json } = args;
    if ([stat, file !== undefined, tar !== undefined].filter(Boolean).length > 1) {
      throw usageError('--stat, --file and --tar exclude each other', EXAMPLE);
    }
    if (file !== undefined && paths.length > 0) throw usageError('--file takes no other paths', EXAMPLE);
    if (json && (stat || tar !== undefined)) throw usageError('--json is for the changes, or for one file', EXAMPLE);
    if (args.a === 'current') throw usageError('`current` comes second', EXAMPLE);
    for (const text of [args.a, args.b]) snapshotIdOrName(text);
    const client = connect();
    const find = (text: string) => findSnapshotId(client, text, io.signal);
    const pair = { a: await find(args.a), b: args.b === 'current' ? args.b : await find(args.b), paths };
    const { diff } = client.snapshots;
    if (file !== undefined) await showFile(io, diff, pair, absolute(file), json);
    else if (tar !== undefined) await writeTar(io, diff, pair, tar);
    else if (json)
      io.printJson(await diff.list(pair.a, pair.b, { ...optionsOf(io, pair), limit: LIMITS.diff.changes.max }));
    else await showChanges(io, diff, pair, stat ? new FolderSums(io) : new ChangeList(io));
  },
});

function absolute(text: string): Buffer {
  if (text.startsWith('/')) return rawArgument(text);
  throw usageError(`a path in a sandbox must be absolute, not ${JSON.stringify(text)}`, EXAMPLE);
}

function optionsOf(io: Io, { paths }: Pair) {
  return { paths, signal: io.signal };
}

async function showFile(io: Io, diff: Diffs, { a, b }: Pair, path: Buffer, json: boolean): Promise<void> {
  const compared = await diff.file(a, b, path, { signal: io.signal });
  if (json) io.printJson(compared);
  else await printFile(io, compared);
}

async function writeTar(io: Io, diff: Diffs, pair: Pair, target: string): Promise<void> {
  const archive = diff.tar(pair.a, pair.b, optionsOf(io, pair));
  if (target === '-') for await (const bytes of archive) await io.write('stdout', bytes);
  else await writeAtomically(rawArgument(target), archive, 0o644);
}

async function showChanges(io: Io, diff: Diffs, pair: Pair, shown: ChangeList | FolderSums): Promise<void> {
  let grown = 0;
  let between: string[] = [];
  try {
    for await (const line of diff.follow(pair.a, pair.b, optionsOf(io, pair))) {
      if (line.line === 'start') {
        between = betweenLines(line.commands);
        io.print(io.paint('bold', `from ${stateText(line.before)}`));
        io.print(io.paint('bold', `to   ${stateText(line.after)}`));
      } else if (line.line === 'change') {
        grown += growthOf(line);
        shown.add(line);
      } else {
        shown.end();
        for (const text of between) io.print(text);
        const { added, changed, removed, renamed } = line;
        const counts = `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`;
        io.print([counts, growthText(grown)].filter(Boolean).join(', '));
      }
    }
  } catch (error) {
    shown.flush(); // the changes found are true, but incomplete
    throw error;
  }
}

/** Formats a state for the head of a comparison. */
export function stateText({ snapshotId, sandboxId, savedAt }: ComparedState): string {
  return printable(`${snapshotId ?? `what ${sandboxId} holds now`}, ${savedAt}`);
}

export function betweenLines({ items, isCut, unknown }: CommandsBetween): string[] {
  if (unknown !== null) return [printable(`commands: ${unknown}`)];
  if (items.length === 0) return ['no command ran in between'];
  const rows = items.map((ran) => commandRow({ ...ran, spec: ran }));
  const lines = columns(
    ['  COMMAND', 'ENDED', 'TOOK', 'LINE'],
    rows.map(([id = '', ...rest]) => [`  ${id}`, ...rest]),
  );
  return ['commands in between:', ...lines, ...(isCut ? ['  …'] : [])];
}
