import { setTimeout as sleep } from 'node:timers/promises';
import type { Playbook } from '../../client/http/openapi.ts';
import { patiently } from '../../client/http/patient.ts';
import type { Playbooks } from '../../client/playbooks.ts';
import { LIMITS } from '../../model/limits.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

const LOOK_EVERY_MS = 300;
const DOING: Record<string, string> = {
  diffing: 'comparing it with a fresh sandbox of what it began as',
  writing: 'writing the playbook',
  checking: 'trying the playbook in the fresh sandbox, twice',
};

/**
 * Tells of each state when it begins, on standard error.
 * @returns the latest that was heard of it, when the wait is over first
 */
export async function followPlaybook(
  io: Io,
  playbooks: Playbooks,
  begun: Playbook,
  signal: AbortSignal,
): Promise<Playbook> {
  let playbook = begun;
  let told = '';
  try {
    while (!isPlaybookOver(playbook.state)) {
      if (told !== playbook.state) io.note(`${playbook.id}: ${DOING[playbook.state] ?? playbook.state}`);
      told = playbook.state;
      io.noteForNow(io.paint('dim', `  ${printable(playbook.waitingFor ?? playbook.state)} …`));
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      const { id } = playbook;
      const options = { signal, deadlineSeconds: LIMITS.waitSeconds.max };
      playbook = await patiently(() => playbooks.get(id, { signal }), options);
    }
    return playbook;
  } catch (error) {
    if (!signal.aborted) throw error;
    return playbook;
  }
}
