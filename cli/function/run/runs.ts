import { writeFile } from 'node:fs/promises';
import type { OptionsOf } from '../../../clients/typescript/http/resource.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../../model/functions/run-state.ts';
import { ChangeList } from '../../diff/change-list.ts';
import { growthOf, growthText } from '../../diff/change-text.ts';
import { flag, oneOf, option, seconds } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import { command, customCommand, pagedCommand } from '../../terminal/command.ts';
import type { connect } from '../../terminal/connection.ts';
import { type Io, printable } from '../../terminal/io.ts';
import { functionName, RUN, runId } from '../input/names.ts';
import { RUN_HEADER, runLines, runRow } from './run-text.ts';

/** `mayfly function runs`: newest first. */
export const runsCommand = pagedCommand({
  description: 'List runs, newest first',
  args: {
    name: { type: 'positional', description: 'Name of a function, else of all', required: false },
    state: option('Only those that are in it', RUN_STATES.join('|')),
    outcome: option('Only those that ended so', RUN_OUTCOMES.join('|')),
    key: option('Only those with this value at their concurrency key'),
    since: option('Only those accepted within so long, or since an instant (RFC 3339)', '2h'),
    dead: flag('Only dead letters: they ended badly, and were not redriven'),
  },
  limit: 50,
  table: { header: RUN_HEADER, row: runRow },
  read({ args, connect }) {
    const query: OptionsOf<'GET /v1/runs'> = {
      ...(args.name !== undefined && { function: functionName(args.name) }),
      ...(args.state !== undefined && { state: oneOf('state', args.state, RUN_STATES) }),
      ...(args.outcome !== undefined && { outcome: oneOf('outcome', args.outcome, RUN_OUTCOMES) }),
      ...(args.key !== undefined && { key: args.key }),
      ...(args.since !== undefined && { since: sinceOf(args.since) }),
      ...(args.dead && { deadLetter: true }),
      contents: true,
    };
    return (page) => connect().runs.list({ ...page, ...query });
  },
});

const A_YEAR = 31_536_000;

function sinceOf(text: string): string {
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  return new Date(Date.now() - seconds('since', text, { min: 1, max: A_YEAR }) * 1_000).toISOString();
}

/** `mayfly run diff`: exits with 0 whether or not anything was changed. */
export const diffCommand = command({
  description: 'What the process of a run changed in its sandbox: mayfly run diff run-…',
  args: RUN,
  call: ({ args, connect, options }) => connect().runs.diff(runId(args.id), options),
  print: printChanges,
});

function printChanges(io: Io, lines: Awaited<ReturnType<ReturnType<typeof connect>['runs']['diff']>>): undefined {
  const shown = new ChangeList(io);
  let grown = 0;
  for (const line of lines) {
    if (line.line === 'change') {
      grown += growthOf(line);
      shown.add(line);
      continue;
    }
    shown.end();
    if (line.line !== 'end') continue;
    const { added, changed, removed, renamed } = line;
    const counts = `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`;
    io.print([counts, growthText(grown)].filter(Boolean).join(', '));
  }
}

/** `mayfly function result`: prints it byte for byte. */
export const resultCommand = customCommand({
  description: 'Fetch the result of a run',
  args: {
    ...RUN,
    output: { type: 'string', alias: 'o', valueHint: 'file', description: 'A new file to write it to, not stdout' },
    artifact: option('One of its artifacts (`mayfly function run`) instead', 'path'),
  },
  async run({ io, args, connect }) {
    const id = runId(args.id);
    const { runs } = connect();
    const { signal } = io;
    const bytes =
      args.artifact === undefined
        ? (await runs.result(id, { signal })).bytes
        : await runs.artifact(id, args.artifact, { signal });
    if (args.output === undefined) await io.write('stdout', bytes);
    else await writeNew(args.output, bytes);
    if (args.output !== undefined) io.note(`${printable(args.output)} has ${bytes.length} bytes`);
  },
});

/** @throws CliError instead of overwriting a file */
async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(path, bytes, { flag: 'wx' }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw usageError(`${path} is there already`, 'Name a file that is not.');
  });
}

/** `mayfly function run`: shows a run, and starts none. */
export const runCommand = command({
  description: 'Show a run: how far it is, its attempts, and what it left',
  args: RUN,
  call: ({ args, connect, options }) => connect().runs.get(runId(args.id), options),
  print: runLines,
});
