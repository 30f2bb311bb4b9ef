import type { FunctionVersion } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { archiveBytes, createArchive, type Found, listFolder } from '../copy/folder.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { connect } from '../terminal/connection.ts';
import { type Io, printable } from '../terminal/io.ts';
import { IGNORE_FILE, MANIFEST, manifestOf } from './manifest.ts';

/** Number of files named when all together are too large. */
const NAMED = 5;

/**
 * Archives the files of a function: its folder without the manifest, the ignore file and the ignored files.
 * @returns null: there is none
 * @throws CliError
 */
async function filesOf(folder: string): Promise<Uint8Array | null> {
  const found: Found[] = [];
  for await (const entry of listFolder(folder, IGNORE_FILE)) {
    if (entry.path !== MANIFEST && entry.path !== IGNORE_FILE) found.push(entry);
  }
  if (found.length === 0) return null;
  const bytes = archiveBytes(found);
  const { filesBytes } = LIMITS.functions;
  if (bytes > filesBytes) throw tooLarge(folder, found, bytes);
  const pieces: Uint8Array[] = [];
  for await (const piece of createArchive(folder, found)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function tooLarge(folder: string, found: readonly Found[], bytes: number): Error {
  const largest = found
    .toSorted((a, b) => b.size - a.size)
    .slice(0, NAMED)
    .map((entry) => `${entry.path} (${size(entry.size)})`);
  return usageError(
    `the files of ${folder} take ${size(bytes)}, and ${size(LIMITS.functions.filesBytes)} is the most`,
    `Leave some out by ${IGNORE_FILE}, or build them into a source with \`mayfly image build\`. The largest: ${largest.join(', ')}.`,
  );
}

/** `mayfly function deploy`: unchanged content returns the existing version. */
export const deployCommand = command({
  description: 'Deploy a folder as a function: events are accepted for it from now on',
  args: {
    folder: { type: 'positional', description: 'Folder with a mayfly.json', required: false, default: '.' },
  },
  async call({ io, args }) {
    const { version, isNew } = await deployFolder(io, args.folder);
    return { ...version, isNew };
  },
  print: (_io, { function: name, version, isNew }) => `${name} version ${version} (${isNew ? 'new' : 'unchanged'})`,
  exit({ warnings }, io) {
    for (const warning of warnings ?? []) io.note(printable(warning));
    return EXIT.ok;
  },
});

/** Deploys a folder and waits for its setup. @throws CliError when the folder has no function, or its setup failed */
export async function deployFolder(io: Io, folder: string): Promise<{ version: FunctionVersion; isNew: boolean }> {
  const { name, spec } = await manifestOf(folder);
  const tar = await filesOf(folder);
  const files = tar && { files: { tar: Buffer.from(tar).toString('base64') } };
  const { functions } = connect(io);
  const { signal } = io;
  const { version, isNew } = await functions.deploy(name, { ...spec, ...files }, { signal });
  if (version.setup?.state !== 'preparing') return { version, isNew };
  io.note(`${name} version ${version.version}: its setup runs`);
  const { setup } = await functions.prepared(name, version.version, { signal });
  if (setup?.state === 'failed') await refuseFailed(io, version, setup);
  return { version: { ...version, ...(setup && { setup }) }, isNew };
}

/** Prints the end of the setup script's output. @throws CliError */
async function refuseFailed(
  io: Io,
  { function: name, version }: FunctionVersion,
  { failure, log }: NonNullable<FunctionVersion['setup']>,
): Promise<never> {
  if (log) await io.write('stderr', Buffer.from(log.endsWith('\n') ? log : `${log}\n`));
  throw new CliError(
    EXIT.failed,
    `the setup of ${name} version ${version} failed`,
    printable(failure?.message ?? 'nothing is known of it'),
    'Mend its script and deploy again. The same once more tries again; its runs end as not-started until then.',
  );
}
