import type { Logger } from 'pino';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import { includesHost, type Observer } from '../../model/host.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Store } from '../../store/connect.ts';

interface LedgerDeps {
  hypervisor: Hypervisor;
  credentials: Pick<Credentials, 'marks'>;
  ledger: Ledger;
  store: Pick<Store, 'sandboxes'>;
  observer: Observer;
  logger: Logger;
}

/**
 * Reconciles the ledger with the store and the machine, before the host takes work: drops orphaned promises, and gives
 * each sandbox on this machine a readable one.
 */
export async function rebuildLedger(deps: LedgerDeps): Promise<void> {
  const { hypervisor, credentials, ledger, logger } = deps;
  const marks = (await Promise.all([hypervisor.marks(), credentials.marks()])).flat();
  const marked = new Set(marks.map(({ sandboxId }) => sandboxId));
  const unreadable = ledger.unreadable();
  const promised = new Set(ledger.sandboxIds());
  for (const id of unreadable.filter((one) => !isSandboxId(one))) {
    logger.warn({ id }, 'what a capture was promised cannot be read, and is dropped');
    await ledger.release(id);
  }
  for (const sandboxId of new Set([...promised, ...unreadable.filter(isSandboxId), ...marked])) {
    const record = await findLivingRecord(deps, sandboxId);
    if (promised.has(sandboxId)) {
      if (record || marked.has(sandboxId)) continue;
      logger.warn({ sandboxId }, 'a promise to a sandbox that does not live, and has nothing here, is dropped');
      await ledger.release(sandboxId);
    } else if (
      usesDisk(sandboxId, marks) ||
      (record?.hostId === deps.observer.hostId && unreadable.includes(sandboxId))
    ) {
      logger.warn({ sandboxId }, 'a sandbox that is here was promised nothing, and is now');
      await restorePromise(deps, sandboxId, record);
    } else if (unreadable.includes(sandboxId)) {
      logger.warn({ sandboxId }, 'a promise that cannot be read is dropped: nothing of its sandbox is here');
      await ledger.release(sandboxId);
    }
  }
}

/** Returns its record, unless it has ended, or placement never tried this machine. */
async function findLivingRecord({ store, observer }: LedgerDeps, sandboxId: string): Promise<SandboxRecord | null> {
  const record = await store.sandboxes.get(sandboxId);
  if (!record || isFinal(record.state)) return null;
  return includesHost(record.askedHosts, observer) ? record : null;
}

function usesDisk(sandboxId: string, marks: Awaited<ReturnType<Hypervisor['marks']>>): boolean {
  return marks.some((mark) => mark.sandboxId === sandboxId && ['domain', 'workspace'].includes(mark.observation.layer));
}

/** Promises the requested resources, else those of its source, else those it uses. */
async function restorePromise(
  { hypervisor, ledger }: LedgerDeps,
  sandboxId: string,
  record: SandboxRecord | null,
): Promise<void> {
  const sources = await hypervisor.sources();
  const source = sources.find(({ name }) => name === record?.spec.source);
  const snapshotId = record?.spec.snapshotId ?? null;
  const saved = snapshotId === null ? null : await hypervisor.snapshots.resources(snapshotId);
  const memoryMib =
    record?.spec.memoryMib ?? saved?.memoryMib ?? source?.memoryMib ?? (await hypervisor.residentMib(sandboxId));
  const diskBytes = source?.diskBytes ?? (await hypervisor.diskBytes(sandboxId));
  await ledger.restore({ sandboxId, memoryMib: Math.ceil(memoryMib), diskBytes });
  if (record?.state === 'hibernated') await ledger.yieldMemory(sandboxId);
}
