import { Failpoints } from '../host/failpoints.ts';
import type { Mark } from '../host/hypervisor.ts';
import { MayflyError } from '../model/errors.ts';
import { isFinal } from '../model/sandbox.ts';
import type { Config } from './config.ts';
import { type HostMachine, openHostMachine } from './host-machine.ts';
import { withStore } from './local-store.ts';

/**
 * Marks on this machine whose sandbox the store does not say is alive.
 * @throws MayflyError host_unavailable while a host worker serves this machine
 */
export async function findResidue(config: Config): Promise<Mark[]> {
  return withMachine(config, async ({ hypervisor, credentials, ledger }) => {
    // The machine first: a sandbox made between the two looks is in the store by then.
    const marks = (await Promise.all([hypervisor.marks(), credentials.marks(), ledger.marks()])).flat();
    const alive = await aliveOf(config, new Set(marks.map((mark) => mark.sandboxId)));
    return marks.filter((mark) => !alive.has(mark.sandboxId));
  });
}

/**
 * Removes only what carries that sandbox's name, in the order of a destroy; resolves when it was looked at again.
 * @throws MayflyError cleanup_incomplete when something is still there; internal when the store says it is alive
 */
export async function removeResidue(config: Config, sandboxId: string): Promise<void> {
  await withMachine(config, async ({ hypervisor, credentials, ledger }) => {
    if ((await aliveOf(config, new Set([sandboxId]))).has(sandboxId)) {
      throw new MayflyError('internal', `the store says that ${sandboxId} is alive; destroy it instead`);
    }
    await credentials.removeCredentials(sandboxId);
    await hypervisor.removeDomain(sandboxId);
    await hypervisor.releaseLease(sandboxId);
    await hypervisor.removeWorkspace(sandboxId);
    await ledger.release(sandboxId);
    const looks = await Promise.all([credentials.look(sandboxId), hypervisor.look(sandboxId), ledger.look(sandboxId)]);
    const left = looks.flat().filter((look) => !look.absent);
    if (left.length > 0)
      throw new MayflyError('cleanup_incomplete', left.map((look) => look.found ?? look.lookedAt).join('; '));
  });
}

async function aliveOf(config: Config, ids: Set<string>): Promise<Set<string>> {
  if (ids.size === 0) return new Set();
  return withStore(config, {}, async (store) => {
    const alive = new Set<string>();
    for (const id of ids) {
      const record = await store.sandboxes.get(id);
      if (record && !isFinal(record.state)) alive.add(id);
    }
    return alive;
  });
}

async function withMachine<T>(config: Config, use: (machine: HostMachine) => Promise<T>): Promise<T> {
  const machine = await openHostMachine(config, Failpoints.parse(undefined));
  try {
    return await use(machine);
  } finally {
    await machine.close();
  }
}
