import type { Files } from '../../clients/typescript/sandbox/files.ts';
import { JSON_OPTION, positional } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { download, downloadStream } from './download.ts';
import { type Endpoint, formatEndpoint, parseEndpoint, resolveSandboxId } from './side.ts';
import { type CopyOptions, Progress, upload, uploadStream } from './upload.ts';

const ONE_SIDE = 'one side must be in a sandbox, as in sbx-…:/path or web:/path, and the other here';

/** Copies between two sides. @returns the target */
async function copy(io: Io, files: Files, source: Endpoint, target: Endpoint, options: CopyOptions): Promise<Endpoint> {
  if (source.kind === 'local' && target.kind === 'sandbox') return upload(files, source, target, options);
  if (source.kind === 'pipe' && target.kind === 'sandbox') return uploadStream(files, process.stdin, target, options);
  if (source.kind === 'sandbox' && target.kind === 'local') return download(files, source, target, options);
  if (source.kind === 'sandbox' && target.kind === 'pipe') {
    await downloadStream(files, source, (bytes) => io.write('stdout', bytes), options);
    return target;
  }
  throw usageError(ONE_SIDE);
}

/** Explains errors of the local file system; the guest's arrive as problems. */
function explain(error: unknown): never {
  if (!(error instanceof Error && 'syscall' in error && 'errno' in error)) throw error;
  const remedy = 'Check the path, its rights and the space there; nothing half is left.';
  throw new CliError(EXIT.failed, 'The copy failed on this machine', error.message, remedy, { cause: error });
}

/** `mayfly cp`: copies through the API, with the syntax of scp. */
export const cpCommand = customCommand({
  args: {
    source: positional('A path here, sbx-…:/path, or - for standard input'),
    target: positional('A path here, sbx-…:/path, or - for standard output'),
    recursive: { type: 'boolean', alias: 'r', description: 'Copy a directory with all that is in it', default: false },
    ...JSON_OPTION,
  },
  async run({ io, args, connect }) {
    const sides = [parseEndpoint(args.source), parseEndpoint(args.target)] as const;
    if ((sides[0].kind === 'sandbox') === (sides[1].kind === 'sandbox')) throw usageError(ONE_SIDE);
    if (sides[1].kind === 'pipe' && args.json) throw usageError('standard output cannot take both the file and --json');
    const client = connect();
    const source = await resolveSandboxId(client, sides[0], io.signal);
    const target = await resolveSandboxId(client, sides[1], io.signal);
    const progress = new Progress(io, formatEndpoint(source));
    const onNote = (note: string) => io.note(printable(note));
    const options = { recursive: args.recursive, progress, onNote, signal: io.signal };
    const placed = await copy(io, client.files, source, target, options).catch(explain);
    const { bytes, seconds } = progress;
    if (args.json) io.printJson({ source: formatEndpoint(source), target: formatEndpoint(placed), bytes, seconds });
    else io.note(`${printable(formatEndpoint(placed))}: ${progress.summary()}`);
  },
});
