import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Playbook } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Playbooks } from '../../clients/typescript/playbooks.ts';
import { orAbsent } from '../../host/os/absent.ts';
import { isPlaybookId, isSnapshotId } from '../../model/ids.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { waitSignal } from '../sandbox/sandbox-text.ts';
import { findSnapshotId, snapshotIdOrName } from '../snapshot/named.ts';
import { idOrName, JSON_OPTION, option, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { followRecord, type Io, printable, recordLines } from '../terminal/io.ts';

/** Maximum number of unreproduced changes listed; the report has all. */
const SHOWN = 20;

export function playbookLines(io: Io, { id, state, written, check, unchecked, failure }: Playbook): string[] {
  const second = check?.runs[1]?.changed;
  const fields: [string, string | null][] = [
    ['state', state],
    ['tasks', written && `${written.tasks}, for ${written.paths} paths`],
    ['packages', written && written.packageCount > 0 ? packagesText(written.packages) : null],
    [
      'needs',
      written && written.variables.length > 0
        ? written.variables.map(({ name, of }) => `${name} (${of})`).join(', ')
        : null,
    ],
    [
      'checked',
      check && `${check.broughtAbout} of ${check.paths} paths are as they were; run again, it changes ${second ?? '?'}`,
    ],
    ['unchecked', unchecked],
    ['failure', failure?.message ?? null],
  ];
  return [...recordLines(io, id, fields), ...unreproducedLines(check ?? written)];
}

function packagesText(packages: NonNullable<Playbook['written']>['packages']): string {
  return packages.map(({ name, change }) => `${name} ${change}`).join(', ');
}

function unreproducedLines(said: Pick<NonNullable<Playbook['check']>, 'left' | 'leftCount'> | null): string[] {
  if (!said || said.leftCount === 0) return [];
  const lines = said.left.slice(0, SHOWN).map(({ path, why }) => `    ${printable(`${path}: ${why}`)}`);
  const more = said.leftCount > SHOWN ? [`    and ${said.leftCount - SHOWN} more: report.md has all`] : [];
  return ['  not brought about:', ...lines, ...more];
}

const DOING: Record<string, string> = {
  diffing: 'comparing it with a fresh sandbox of what it began as',
  writing: 'writing the playbook',
  checking: 'trying the playbook in the fresh sandbox, twice',
};

/** Prints each state when it starts, on standard error. @returns the latest state when the wait ends first */
export async function followPlaybook(
  io: Io,
  playbooks: Playbooks,
  begun: Playbook,
  signal: AbortSignal,
): Promise<Playbook> {
  let told = '';
  return followRecord(begun, {
    show({ id, state, waitingFor }) {
      if (isPlaybookOver(state)) return;
      if (told !== state) io.note(`${id}: ${DOING[state] ?? state}`);
      told = state;
      io.noteForNow(io.paint('dim', `  ${printable(waitingFor ?? state)} …`));
    },
    isOver: ({ state }) => isPlaybookOver(state),
    read: ({ id }) => playbooks.get(id, { signal }),
    signal,
  });
}

/** Names of files that Mayfly writes into a playbook. */
const OURS = /^(?:playbook\.yml|vars\.example\.yml|report\.md|files\/\d{4,6})$/;

/** Refuses to overwrite a file, before anything starts. @throws CliError */
export async function assertOutputFree(output: string): Promise<void> {
  if (output === '-') return;
  if (await orAbsent(lstat(output)))
    throw usageError(`${output} is there already`, 'Name a folder, or a file that ends with .tar, which is not.');
}

/** Writes the playbook as a folder, as the archive itself, or to standard output. */
export async function writeArchive(io: Io, output: string, archive: Uint8Array): Promise<void> {
  if (output === '-') return io.write('stdout', archive);
  if (output.endsWith('.tar')) return writeFile(output, archive, { flag: 'wx' });
  await mkdir(output);
  for (const { path, bytes } of tarEntries(archive)) {
    if (!OURS.test(path)) throw new RangeError(`The archive of a playbook has a file ${JSON.stringify(path)}.`);
    await mkdir(dirname(join(output, path)), { recursive: true });
    await writeFile(join(output, path), bytes, { flag: 'wx' });
  }
}

/** `mayfly playbook`: done when it is written, and checked if possible. Ctrl-C undoes a playbook that it started. */
export const playbookCommand = customCommand({
  args: {
    of: positional('Sandbox id or name; or pbk-…, to go on with one'),
    from: option('What changed since this snapshot, not since it began', 'snp-…'),
    output: {
      type: 'string',
      alias: 'o',
      valueHint: 'folder|file.tar|-',
      description: 'Where to write it: a new folder, an archive, or stdout',
    },
    network: option('What the fresh sandbox can reach', 'none|internet'),
    ...WAIT_OPTION,
    ...JSON_OPTION,
  },
  async run({ io, args, connect, options }) {
    const { of, output, wait, json } = args;
    if (output === '-' && json) throw usageError('--json and --output - exclude each other');
    if (output !== undefined) await assertOutputFree(output);
    const seconds = waitSeconds(wait);
    const client = connect();
    const { playbooks } = client;
    const begin = prepareRequest(io, client, args);
    const { signal } = waitSignal(io, seconds);
    const playbook = await followPlaybook(io, playbooks, await begin(), signal);
    if (!isPlaybookOver(playbook.state)) return handleUnfinished(io, playbooks, playbook, isPlaybookId(of));
    const isWritten = playbook.state === 'checked' || playbook.state === 'unchecked';
    if (isWritten && output !== undefined)
      await writeArchive(io, output, await playbooks.archive(playbook.id, options));
    if (json) io.printJson(playbook);
    else if (output === '-') for (const line of playbookLines(io, playbook)) io.note(line);
    else for (const line of playbookLines(io, playbook)) io.print(line);
    return isWritten ? EXIT.ok : EXIT.failed;
  },
});

interface Asked {
  of: string;
  from: string | undefined;
  network: string | undefined;
}

/** @throws CliError before any request */
function prepareRequest(io: Io, client: MayflyClient, { of, from, network }: Asked): () => Promise<Playbook> {
  const { signal } = io;
  const { playbooks } = client;
  if (isPlaybookId(of)) {
    if (from === undefined && network === undefined) return () => playbooks.get(of, { signal });
    throw usageError('--from and --network are for a playbook that is begun', `Leave them out: ${of} has its own.`);
  }
  if (from !== undefined) snapshotIdOrName(from);
  const wish = network === undefined ? {} : { network: { egress: egressOf(network) } };
  const sandbox = idOrName(of);
  return async () => {
    if (from === undefined) return playbooks.write(sandbox, wish, { signal });
    const id = isSnapshotId(from) ? sandbox : await client.sandboxIdOf(sandbox, { signal });
    const base = await findSnapshotId(client, from, signal, id);
    return playbooks.write(id, { ...wish, from: base }, { signal });
  };
}

/** Handles an unfinished playbook: Ctrl-C undoes one that this command started; otherwise it continues. */
async function handleUnfinished(io: Io, playbooks: Playbooks, { id }: Playbook, isFollowed: boolean): Promise<number> {
  const { aborted: isInterrupted } = io.signal;
  if (isInterrupted && !isFollowed) {
    await playbooks.cancel(id);
    io.note(`${id} is undone: its fresh sandbox and its snapshots go.`);
  } else io.note(`${id} goes on: mayfly playbook ${id}`);
  return isInterrupted ? EXIT.interrupted : EXIT.waitedTooLong;
}

function egressOf(text: string): 'none' | 'internet' {
  if (text === 'none' || text === 'internet') return text;
  throw usageError(`--network must be none or internet, not ${JSON.stringify(text)}`);
}
