import { Failpoints } from '../../host/failpoints.ts';
import type { Mark } from '../../host/hypervisor.ts';
import { Ledger } from '../../host/ledger.ts';
import { entriesOf } from '../../host/os/directory.ts';
import { Credentials } from '../../host/ssh/credentials.ts';
import { StateDir } from '../../host/state-dir.ts';
import { MayflyError } from '../../model/errors.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Config } from '../config/config.ts';
import { type HostMachine, openHostMachine } from '../machine/host-machine.ts';
import { readMarks } from '../machine/hypervisor.ts';
import { withPresentStore } from '../servers/local-store.ts';

/**
 * Finds marks on this machine whose sandbox is not alive in the store. Only reads the machine, so it may run while the
 * host worker does.
 * @throws MayflyError host_unavailable when the hypervisor does not answer; store_unavailable
 */
export async function findResidue(config: Config): Promise<Mark[]> {
  // Machine first: a sandbox created between the two reads is in the store by then.
  const marks = await readMachineMarks(config);
  const alive = await findAlive(config, new Set(marks.map((mark) => mark.sandboxId)));
  const found = marks.filter((mark) => !alive.has(mark.sandboxId));
  if (found.length === 0) return [];
  // Read again: a sandbox destroyed in between left the machine before the store recorded it.
  const still = await readMachineMarks(config);
  return found.filter((mark) => still.some((other) => isSameMark(mark, other)));
}

/**
 * Removes only resources with these sandboxes' names, in the order of a destroy; resolves after a check.
 * @throws MayflyError host_unavailable while a host worker serves this machine; cleanup_incomplete when residue
 * remains; internal when a sandbox is alive in the store
 */
export async function removeResidue(config: Config, sandboxIds: Iterable<string>): Promise<void> {
  await withMachine(config, (machine) => removeResidueFrom(machine, config, sandboxIds));
}

/**
 * Like {@link removeResidue}, on a machine that is open.
 * @param serialize serializes with other work on the sandbox, `@default` runs at once: no other process serves the machine
 */
export async function removeResidueFrom(
  machine: HostMachine,
  config: Config,
  sandboxIds: Iterable<string>,
  serialize: (sandboxId: string, remove: () => Promise<void>) => Promise<void> = (_id, remove) => remove(),
): Promise<void> {
  const ids = new Set(sandboxIds);
  await refuseAlive(config, ids);
  for (const id of ids) {
    await serialize(id, async () => {
      await refuseAlive(config, new Set([id])); // it may have had to wait
      await removeOne(machine, id);
    });
  }
}

async function refuseAlive(config: Config, ids: Set<string>): Promise<void> {
  for (const id of await findAlive(config, ids)) {
    throw new MayflyError('internal', `the store says that ${id} is alive; destroy it instead`);
  }
}

/** Opens this machine exclusively, and afterwards ends anything started for it. @throws MayflyError host_unavailable */
export async function withMachine<T>(config: Config, use: (machine: HostMachine) => Promise<T>): Promise<T> {
  const machine = await openHostMachine(config, Failpoints.parse(undefined));
  if (machine.isNew) machine.endOnClose();
  try {
    return await use(machine);
  } finally {
    await machine.close();
  }
}

export function isSameMark(one: Mark, other: Mark): boolean {
  return one.sandboxId === other.sandboxId && one.observation.layer === other.observation.layer;
}

async function removeOne({ credentials, hypervisor, ledger }: HostMachine, sandboxId: string): Promise<void> {
  await credentials.removeCredentials(sandboxId);
  await hypervisor.removeDomain(sandboxId);
  await hypervisor.releaseLease(sandboxId);
  await hypervisor.removeWorkspace(sandboxId);
  await ledger.release(sandboxId);
  const looks = await Promise.all([credentials.look(sandboxId), hypervisor.look(sandboxId), ledger.look(sandboxId)]);
  const left = looks.flat().filter((look) => !look.absent);
  if (left.length > 0)
    throw new MayflyError('cleanup_incomplete', left.map((look) => look.found ?? look.lookedAt).join('; '));
}

async function readMachineMarks(config: Config): Promise<Mark[]> {
  const state = new StateDir(config.stateDir);
  const marks = await Promise.all([
    readMarks(config, state),
    (await entriesOf(state.credentials)) ? new Credentials(state).marks() : [],
    (await entriesOf(state.reservations)) ? new Ledger(state).marks() : [],
  ]);
  return marks.flat();
}

async function findAlive(config: Config, ids: Set<string>): Promise<Set<string>> {
  if (ids.size === 0) return new Set();
  return withPresentStore(config, async (store) => {
    const alive = new Set<string>();
    for (const id of ids) {
      const record = await store.sandboxes.get(id);
      if (record && !isFinal(record.state)) alive.add(id);
    }
    return alive;
  });
}
