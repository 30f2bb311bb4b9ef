import type { Diffs } from '../../clients/typescript/diff.ts';
import { LIMITS } from '../../model/limits.ts';
import { writeWhole } from '../copy/local-file.ts';
import { rawArgument } from '../copy/raw-argument.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from '../snapshot/named.ts';
import { flag, JSON_OPTION, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { betweenLines, stateText } from './between-text.ts';
import { ChangeList } from './change-list.ts';
import { growthOf, growthText } from './change-text.ts';
import { printFile } from './file-text.ts';
import { FolderSums } from './folder-sums.ts';

const EXAMPLE = 'mayfly diff snp-… current /etc';

interface Pair {
  a: string;
  b: string;
  paths: Buffer[];
}

/** `mayfly diff`: ends with 0 whether or not anything differs. */
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
  else await writeWhole(rawArgument(target), archive, 0o644);
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
    shown.flush(); // what was found is true, and not all
    throw error;
  }
}
