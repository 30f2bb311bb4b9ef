import type { FunctionVersion } from '../../clients/typescript/http/openapi.ts';
import { CliError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { filesOf } from './function-files.ts';
import { manifestOf } from './manifest.ts';

/** `mayfly function deploy`: the same content again is the version that is there. */
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

/** Waits for its setup. @throws CliError for what is no folder of a function, or when its setup failed */
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

/** Prints the end of what its script has printed. @throws CliError */
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
