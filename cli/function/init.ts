import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isFunctionName } from '../../model/functions/function.ts';
import { isRunId } from '../../model/ids.ts';
import { option } from '../terminal/arguments.ts';
import { customCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { functionName } from './input/names.ts';
import { IGNORE_FILE, MANIFEST } from './manifest.ts';

const MAIN = `#!/bin/sh
# The event is on standard input, and in the file $MAYFLY_EVENT: a CloudEvent as JSON, whose data is what was sent.
# What it prints to either stream is its log (mayfly function logs); its result is what is in $MAYFLY_RESULT.
# Exit 0: it succeeded. 75: try again later, if it is idempotent. Any other: it failed.
set -eu
event=$(cat)
echo "an event of \${#event} characters came"
echo "run $MAYFLY_RUN_ID, attempt $MAYFLY_ATTEMPT" >&2
printf '{"eventLength":%d}\\n' "\${#event}" >"$MAYFLY_RESULT"
`;

/** `mayfly function init`: keeps existing files. */
export const initCommand = customCommand({
  description: 'Write a function to begin with: mayfly.json, main.sh and .mayflyignore',
  args: {
    folder: { type: 'positional', description: 'Where to write it', required: false, default: '.' },
    name: option('Of the function (default: that of the folder)'),
    source: { type: 'string', description: 'What its sandboxes are made of', default: 'golden-debian12' },
  },
  async run({ io, args }) {
    const { folder, source } = args;
    const name = args.name === undefined ? nameOf(folder) : functionName(args.name);
    const manifest = `${JSON.stringify({ name, source, argv: ['./main.sh'] }, null, 2)}\n`;
    await mkdir(folder, { recursive: true });
    await writeNew(io, join(folder, MANIFEST), manifest, 0o644);
    await writeNew(io, join(folder, 'main.sh'), MAIN, 0o755);
    await writeNew(io, join(folder, IGNORE_FILE), '.git\nnode_modules\n', 0o644);
    io.note(`Deploy it with \`mayfly function deploy${folder === '.' ? '' : ` ${printable(folder)}`}\`.`);
  },
});

async function writeNew(io: Io, path: string, text: string, mode: number): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode });
    io.print(`${printable(path)} is written`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    io.print(`${printable(path)} is there already, and stays as it is`);
  }
}

/** Derives a function's name from a folder's. */
function nameOf(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63)
    .replace(/-+$/, '');
  return isFunctionName(name) && !isRunId(name) ? name : 'my-function';
}
