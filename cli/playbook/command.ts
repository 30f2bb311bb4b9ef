import type { Playbook } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { Playbooks } from '../../clients/typescript/playbooks.ts';
import { isPlaybookId, isSnapshotId } from '../../model/ids.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { waitSignal } from '../sandbox/follow.ts';
import { findSnapshotId, snapshotIdOrName } from '../snapshot/named.ts';
import { idOrName, JSON_OPTION, option, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { refuseTaken, writeArchive } from './archive.ts';
import { followPlaybook } from './follow-playbook.ts';
import { playbookLines } from './playbook-text.ts';

/** `mayfly playbook`: done when it is written, and checked as far as that can be. Ctrl-C has undone what it began. */
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
    if (output !== undefined) await refuseTaken(output);
    const seconds = waitSeconds(wait);
    const client = connect();
    const { playbooks } = client;
    const begin = beginning(io, client, args);
    const { signal } = waitSignal(io, seconds);
    const playbook = await followPlaybook(io, playbooks, await begin(), signal);
    if (!isPlaybookOver(playbook.state)) return leave(io, playbooks, playbook, isPlaybookId(of));
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

/** @throws CliError before anything is asked for */
function beginning(io: Io, client: MayflyClient, { of, from, network }: Asked): () => Promise<Playbook> {
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

/** One that is not over: what this command has begun is undone by Ctrl-C, and else it goes on. */
async function leave(io: Io, playbooks: Playbooks, { id }: Playbook, isFollowed: boolean): Promise<number> {
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
