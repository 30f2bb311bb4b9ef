import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { ask, outcomeOf } from './asking.ts';
import type { Act } from './stage.ts';

/** Writes a playbook of one file with real Ansible: written, tried and compared; its test sandbox is cleaned up. */
export const WRITE_A_PLAYBOOK: Act = {
  prepare: async (stage) => {
    const id = await stage.sandbox();
    await ask((o) => stage.client.commands.run(id, { command: 'echo one > ~/one' }, o));
    return [id];
  },
  run: ({ client }, [sandboxId = ''], key) =>
    outcomeOf(async () => {
      const { id } = await ask((o) => client.playbooks.write(sandboxId, {}, o), key);
      const { state, check, checkerId, unchecked, failure } = await ask(() => client.playbooks.get(id));
      if (!isPlaybookOver(state)) return 'creating';
      if (!check) return failure?.code ?? unchecked ?? state;
      const fresh = await ask(() => client.getSandbox(checkerId));
      const brought = `${check.broughtAbout} of ${check.paths}, and then ${check.runs[1]?.changed} changed`;
      return brought === '1 of 1, and then 0 changed' ? `${state}, ${fresh.state}` : `${state}: ${brought}`;
    }, 'checked, destroyed'),
};
