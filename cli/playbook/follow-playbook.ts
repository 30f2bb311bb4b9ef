import type { Playbook } from '../../clients/typescript/http/openapi.ts';
import type { Playbooks } from '../../clients/typescript/playbooks.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { followRecord } from '../terminal/progress.ts';

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
