import { setTimeout as sleep } from 'node:timers/promises';
import { type ArgsDef, defineCommand } from 'citty';
import type { Playbook, Playbooks } from '../../client/playbooks.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { waitSignal } from '../sandbox/follow.ts';
import { checkArguments, JSON_OPTION, snapshotId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { refuseTaken, writeArchive } from './archive.ts';
import { playbookLines } from './playbook-text.ts';

const ARGS = {
  sandbox: { type: 'positional', description: 'Sandbox id or name', required: true },
  from: { type: 'string', valueHint: 'snp-…', description: 'What changed since this snapshot, not since it began' },
  output: {
    type: 'string',
    alias: 'o',
    valueHint: 'folder|file.tar|-',
    description: 'Where to write it: a new folder, an archive, or stdout',
  },
  network: { type: 'string', valueHint: 'none|internet', description: 'What the fresh sandbox can reach' },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

const LOOK_EVERY_MS = 300;
const DOING: Record<string, string> = {
  diffing: 'comparing it with a fresh sandbox of what it began as',
  writing: 'writing the playbook',
  checking: 'trying the playbook in the fresh sandbox, twice',
};

/** `mayfly playbook`: done when it is written, and checked as far as that can be. Ctrl-C has it undone. */
export function playbookCommand(io: Io) {
  return defineCommand({
    meta: { name: 'playbook', description: 'Write what changed in a sandbox as an Ansible playbook, and check it' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { sandbox, from, output, network, wait, json } = args;
      if (output === '-' && json) throw usageError('--json and --output - exclude each other');
      if (output !== undefined) await refuseTaken(output);
      const { playbooks } = connect(io);
      const wish = {
        ...(from !== undefined && { from: snapshotId(from) }),
        ...(network !== undefined && { network: { egress: egressOf(network) } }),
      };
      const begun = await playbooks.write(sandbox, wish, { signal: io.signal });
      const { signal } = waitSignal(io, waitSeconds(wait));
      const playbook = await followed(io, playbooks, begun, signal);
      if (io.signal.aborted) {
        if (!isPlaybookOver(playbook.state)) await playbooks.cancel(begun.id);
        return EXIT.interrupted;
      }
      const isWritten = playbook.state === 'checked' || playbook.state === 'unchecked';
      if (isWritten && output !== undefined)
        await writeArchive(io, output, await playbooks.archive(playbook.id, { signal: io.signal }));
      if (json) io.printJson(playbook);
      else if (output === '-') for (const line of playbookLines(io, playbook)) io.note(line);
      else for (const line of playbookLines(io, playbook)) io.print(line);
      if (isWritten) return EXIT.ok;
      return isPlaybookOver(playbook.state) ? EXIT.failed : EXIT.waitedTooLong;
    },
  });
}

/** @returns the latest that was heard of it, when the wait is over first */
async function followed(io: Io, playbooks: Playbooks, begun: Playbook, signal: AbortSignal): Promise<Playbook> {
  let playbook = begun;
  let told = '';
  try {
    while (!isPlaybookOver(playbook.state)) {
      if (told !== playbook.state) io.note(`${playbook.id}: ${DOING[playbook.state] ?? playbook.state}`);
      told = playbook.state;
      io.noteForNow(io.paint('dim', `  ${printable(playbook.waitingFor ?? playbook.state)} …`));
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      playbook = await playbooks.get(playbook.id, { signal });
    }
    return playbook;
  } catch (error) {
    if (!signal.aborted) throw error;
    return playbook;
  }
}

function egressOf(text: string): 'none' | 'internet' {
  if (text === 'none' || text === 'internet') return text;
  throw usageError(`--network must be none or internet, not ${JSON.stringify(text)}`);
}
