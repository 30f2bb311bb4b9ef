import type { Semaphore } from 'async-mutex';
import { MayflyError } from '../../model/errors.ts';
import { raceAbort } from '../os/abort.ts';
import type { StepContext } from '../step-context.ts';
import { type CloningTools, recloneCold } from './cloning.ts';
import { type CloneSpec, Workspace, workspaceIds } from './layers/workspace.ts';
import type { Flattening } from './live/flattening.ts';
import type { Waking } from './memory/waking.ts';
import type { PortFilter } from './network/port-filter.ts';
import { macsOf } from './network/ports.ts';

export type BootingTools = CloningTools & { filter: PortFilter; flattening: Flattening; waking: Waking };

/** Timeout of a guest woken from a template; after it the guest boots cold. Milliseconds. */
const WAKE_ANSWER_MS = 10_000;

/** Starts a cloned sandbox: by a boot, or by waking it from saved memory. */
export class Booting {
  /** @param turns queue of the guests that wake from templates, since waking needs processors */
  constructor(
    private readonly deps: BootingTools,
    private readonly turns: Semaphore,
  ) {}

  /** @throws MayflyError boot_failed, address_conflict, host_disk_full */
  async boot(sandboxId: string, context: StepContext): Promise<void> {
    const { state, flattening, filter, domains } = this.deps;
    const workspace = new Workspace(state, sandboxId);
    const spec = await workspace.spec();
    if (spec === null) {
      throw new MayflyError('boot_failed', `${sandboxId} cannot be booted: it has not been cloned on this host.`);
    }
    await flattening.stop(sandboxId);
    await this.#assertUniqueAddress(sandboxId);
    await filter.sync(); // before there is a port
    if (spec.wakesFrom !== null && (await this.#tryWake(workspace, spec, spec.wakesFrom, context))) return;
    await domains.start(sandboxId, workspace.domainXml, context.signal);
  }

  async #assertUniqueAddress(sandboxId: string): Promise<void> {
    const mine = macsOf(sandboxId);
    for (const other of await workspaceIds(this.deps.state)) {
      if (other === sandboxId || ![...macsOf(other)].some((mac) => mine.has(mac))) continue;
      throw new MayflyError('address_conflict', `${sandboxId} would have a MAC address of ${other}.`);
    }
  }

  /** Wakes the clone. @returns false when waking from its template failed, so that it has to boot */
  async #tryWake(workspace: Workspace, spec: CloneSpec, snapshotId: string, context: StepContext): Promise<boolean> {
    const { waking, processes, templates } = this.deps;
    const { signal } = context;
    const isTemplate = spec.request.snapshotId === null && spec.boot?.templateId === snapshotId;
    if (!isTemplate) {
      // of a fork or a restore: its disks hold data that a cold boot of the source would lose
      await waking.wake(workspace, spec, snapshotId, signal);
      return true;
    }
    try {
      await this.#withTurn(signal, () => waking.wake(workspace, spec, snapshotId, signal, WAKE_ANSWER_MS));
      await templates.index.woke(snapshotId);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof MayflyError)) throw error;
      await templates.index.failed(snapshotId, error.message, error.code === 'source_changed');
      if (spec.request.boot === 'template') throw error;
      await processes.end(workspace.sandboxId); // two QEMUs never write to the disks of one sandbox
      await recloneCold(this.deps, spec, context);
      return false;
    }
  }

  /** Runs in FIFO order. An aborted wait ends at once, since the sandbox's end waits for it. */
  async #withTurn(signal: AbortSignal, wake: () => Promise<void>): Promise<void> {
    signal.throwIfAborted();
    const turn = this.turns.acquire();
    try {
      await raceAbort(turn, signal);
      await wake();
    } finally {
      void turn.then(([, release]) => release());
    }
  }
}
