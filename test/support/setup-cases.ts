import { expect } from 'vitest';
import { setupWorkflowId } from '../../model/functions/setup/setup-saga.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { SetupPoller } from '../../worker/setups/setups.ts';
import { eventually } from './eventually.ts';
import { useFunctionCases } from './function-cases.ts';

const SOURCE = 'golden-debian12';

/** Extends {@link useFunctionCases} by functions with a setup. */
export function useSetupCases() {
  const cases = useFunctionCases();
  const { mayfly, door, functions } = cases;

  /** Deploys a function, and waits for the end of its setup. @returns the answer */
  async function deploy(name: string, script: string, more: object = {}) {
    const wish = {
      setup: { source: SOURCE, script, ...more },
      command: 'cat nonce; cat /etc/machine-id; head -c 8 /dev/urandom | od -An -tx8',
    };
    const response = await door().call('PUT', `/v1/functions/${name}`, wish, { Prefer: 'wait=120' });
    const body = (await response.json()) as { version: number; setup: { state: string; log: string | null } };
    return { status: response.status, ...body };
  }

  async function releaseSetups(): Promise<void> {
    const setups = () => new SetupPoller(mayfly().store, new ControlTemporalClient(mayfly().client));
    await setups().release();
    await setups().look();
  }

  /** Deletes the function, and waits until its saved setup is deleted. */
  async function remove(name: string): Promise<void> {
    const before = await mayfly().store.functionSetups.all();
    expect(await functions().delete(name)).toBe(204);
    await eventually(
      async () => {
        await releaseSetups();
        return { setups: await mayfly().store.functionSetups.all(), saved: await mayfly().onHost() };
      },
      ({ setups, saved }) => setups.length === 0 && saved.length === 0,
    );
    // a deploy that finds the previous setup's workflow still open waits for the next reconciliation
    const reconciliation = new ControlTemporalClient(mayfly().client);
    for (const { project, key } of before) {
      const workflowId = setupWorkflowId({ project, setupKey: key });
      await eventually(() => reconciliation.isOpen(workflowId), false);
    }
  }

  return { ...cases, deploy, remove };
}
