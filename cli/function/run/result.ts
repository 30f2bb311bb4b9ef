import { writeFile } from 'node:fs/promises';
import { option } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import { customCommand } from '../../terminal/command.ts';
import { printable } from '../../terminal/printable.ts';
import { RUN, runId } from '../input/names.ts';

/** `mayfly function result`: byte for byte. */
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

/** @throws CliError: nothing of a person is written over */
async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  await writeFile(path, bytes, { flag: 'wx' }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw usageError(`${path} is there already`, 'Name a file that is not.');
  });
}
