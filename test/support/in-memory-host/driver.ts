import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningSource } from '../../../host/console.ts';
import type { Failpoints } from '../../../host/failpoints.ts';
import type { Clone, CloneRequest, DomainLocation, Hypervisor, Lease, Mark } from '../../../host/hypervisor.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { MayflyError } from '../../../model/errors.ts';
import { type Capacity, RUNNING_PROBLEM, type SourceInfo } from '../../../model/host.ts';
import { macAddress } from '../../../model/ids.ts';
import type { Layer } from '../../../model/sandbox/layers.ts';
import type { Observation } from '../../../model/sandbox/proof.ts';
import type { Boot } from '../../../model/sandbox/sandbox.ts';
import { GIB } from '../../../model/snapshots/storage.ts';
import { InMemoryBaking } from './baking.ts';
import { InMemoryCaptures } from './captures.ts';
import { describeDisk, type Files, type InMemoryMachine, sizeOf } from './machine.ts';
import { InMemorySnapshots } from './snapshots.ts';
import { InMemorySourcePower } from './source-power.ts';
import { InMemoryTemplates } from './templates.ts';

const LOOK_MS = 20;
const DISK_BYTES = 1_024 * GIB;
const CAPACITY: Capacity = {
  cpus: 16,
  memoryTotalMib: 131_072,
  memoryAvailableMib: 131_072,
  diskTotalBytes: DISK_BYTES,
  diskAvailableBytes: DISK_BYTES,
};
/** Memory of a running guest, MiB. */
const RESIDENT_MIB = 16;

/** Hypervisor without a machine or processes, for tests of sagas; no setting offers it. */
export class InMemoryHypervisor implements Hypervisor {
  readonly kind = 'simulated';
  readonly isolation = 'none';
  readonly uri = null;
  readonly snapshots: InMemorySnapshots;
  readonly baking: InMemoryBaking;
  readonly templates: InMemoryTemplates;
  readonly captures: InMemoryCaptures;
  readonly power: InMemorySourcePower;

  readonly close = async () => {};
  readonly leaseFiles = () => [];
  readonly capacity = async () => CAPACITY;
  readonly disk = async () => ({ totalBytes: DISK_BYTES, availableBytes: DISK_BYTES });
  readonly heldBytes = async () => new Map<string, number>();
  readonly savedMemoryBytes = async () => 0;
  readonly stopped = async () => [];
  readonly releaseLease = async (id: string) => void this.machine.leases.delete(id);
  readonly machines = async (ids: readonly string[]) => new Map(ids.map((id) => [id, this.machine.stateOf(id)]));

  constructor(
    readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {
    this.snapshots = new InMemorySnapshots(machine, failpoints);
    this.baking = new InMemoryBaking(machine, failpoints);
    this.captures = new InMemoryCaptures(machine, failpoints);
    this.templates = new InMemoryTemplates(machine, failpoints);
    this.power = new InMemorySourcePower(machine, failpoints);
  }

  /** Thaws all guests and sources: the killed worker cannot, and their sagas may come late. */
  async open(): Promise<void> {
    this.machine.frozen.clear();
  }

  async sources(): Promise<SourceInfo[]> {
    return Promise.all([...this.machine.images.keys()].map((name) => this.source(name)));
  }

  async source(name: string): Promise<SourceInfo> {
    const image = this.machine.images.get(name);
    if (!image) throw new MayflyError('source_not_found', `There is no source ${name}.`);
    const problem = image.isRunning ? RUNNING_PROBLEM : null;
    const content = image.isRunning ? null : await this.contentOf(name);
    return { name, cloneable: !image.isRunning, problem, cpus: 1, memoryMib: 64, diskBytes: GIB, content };
  }

  async contentOf(name: string): Promise<string | null> {
    return describeDisk(this.machine.images.get(name)?.files ?? new Map()).sha256;
  }

  async runningSource(name: string): Promise<RunningSource> {
    await this.source(name);
    throw new MayflyError('source_not_running', `${name} has no processes that could be spoken to.`);
  }

  async residentMib(sandboxId: string): Promise<number> {
    const domain = this.machine.domains.get(sandboxId);
    return domain === 'running' || domain === 'paused' ? RESIDENT_MIB : 0;
  }

  async residentMibOfAll(): Promise<ReadonlyMap<string, number>> {
    const ids = [...this.machine.domains.keys()];
    return new Map(await Promise.all(ids.map(async (id) => [id, await this.residentMib(id)] as const)));
  }

  async diskBytes(sandboxId: string): Promise<number> {
    return sizeOf(this.machine.workspaces.get(sandboxId)?.files ?? new Map());
  }

  async cloneDisk(request: CloneRequest, { signal }: StepContext): Promise<Clone> {
    const { sandboxId } = request;
    signal.throwIfAborted();
    const present = this.machine.workspaces.get(sandboxId)?.clone;
    if (present) return present;
    const files = await this.#originOf(request);
    const { boot, templateKey } = await this.templates.bootOf(request);
    const workspace = { clone: null, files, restoreId: null, boot, isOffline: request.isOffline ?? false };
    this.machine.workspaces.set(sandboxId, workspace);
    await this.failpoints.hit('cloneDisk', 'during', sandboxId, signal);
    const hostKey = makeKeyPair(sandboxId).publicKey;
    const clone = { hostKey, macAddress: macAddress(sandboxId), user: 'sandbox', templateKey };
    this.machine.workspaces.set(sandboxId, { ...workspace, clone });
    return clone;
  }

  async bootOf(sandboxId: string): Promise<Boot | null> {
    return this.machine.isOn(sandboxId) ? (this.machine.workspaces.get(sandboxId)?.boot ?? null) : null;
  }

  async bootDomain(sandboxId: string, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const workspace = this.machine.workspaces.get(sandboxId);
    if (!workspace?.clone) {
      throw new MayflyError('boot_failed', `${sandboxId} has no disk on this host: it was removed, or never made.`);
    }
    if (!workspace.isOffline && !this.machine.leases.has(sandboxId))
      this.machine.leases.set(sandboxId, this.#freeLease(sandboxId));
    await this.failpoints.hit('bootDomain', 'during', sandboxId, signal);
    if (!this.machine.isOn(sandboxId)) this.machine.domains.set(sandboxId, 'running');
  }

  async awaitLease(sandboxId: string, context: StepContext): Promise<Lease> {
    const { signal } = context;
    for (;;) {
      signal.throwIfAborted();
      if (!this.machine.isOn(sandboxId)) throw new MayflyError('boot_failed', `${sandboxId} does not run any more.`);
      const lease = this.machine.leases.get(sandboxId);
      if (lease) return lease;
      context.alive(`no lease of ${sandboxId} yet`);
      await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  watch(signal: AbortSignal): AsyncIterable<void> {
    return this.machine.deaths.rings(signal);
  }

  async whereabouts(sandboxId: string): Promise<DomainLocation> {
    if (!this.machine.workspaces.get(sandboxId)?.clone) return { domain: 'absent', lease: null };
    const domain = this.machine.domains.get(sandboxId) ?? 'off';
    return { domain, lease: this.machine.leases.get(sandboxId) ?? null };
  }

  async pause(sandboxId: string): Promise<void> {
    this.#refuseOff(sandboxId);
    await this.failpoints.hit('pause', 'during', sandboxId);
    this.machine.domains.set(sandboxId, 'paused');
  }

  async resume(sandboxId: string): Promise<void> {
    this.#refuseOff(sandboxId);
    this.machine.domains.set(sandboxId, 'running');
    await this.failpoints.hit('resume', 'during', sandboxId);
  }

  /** Pauses before its memory is saved. */
  async hibernate(sandboxId: string): Promise<void> {
    this.#refuseOff(sandboxId);
    if (this.machine.domains.get(sandboxId) === 'hibernated') return;
    this.machine.domains.set(sandboxId, 'paused');
    await this.failpoints.hit('hibernate', 'during', sandboxId);
    this.machine.domains.set(sandboxId, 'hibernated');
  }

  /** Pauses until its memory is restored. */
  async wake(sandboxId: string, wished: 'running' | 'paused'): Promise<void> {
    this.#refuseOff(sandboxId);
    this.machine.domains.set(sandboxId, 'paused');
    await this.failpoints.hit('wake', 'during', sandboxId);
    this.machine.domains.set(sandboxId, wished);
  }

  async removeDomain(sandboxId: string): Promise<void> {
    this.machine.domains.delete(sandboxId);
    this.machine.frozen.delete(sandboxId);
    await this.failpoints.hit('removeDomain', 'during', sandboxId);
  }

  async removeWorkspace(sandboxId: string): Promise<void> {
    await this.failpoints.hit('removeWorkspace', 'during', sandboxId);
    this.machine.workspaces.delete(sandboxId);
  }

  async look(sandboxId: string): Promise<Observation[]> {
    const { domains, leases, workspaces } = this.machine;
    return [
      observed('domain', domains.get(sandboxId)),
      observed('lease', leases.get(sandboxId)?.address),
      observed('workspace', workspaces.has(sandboxId) ? 'its disk' : undefined),
    ];
  }

  async marks(): Promise<Mark[]> {
    const { domains, leases, workspaces } = this.machine;
    const ids = [...new Set([...domains.keys(), ...leases.keys(), ...workspaces.keys()])];
    const looks = ids.map(async (sandboxId) => {
      const found = (await this.look(sandboxId)).filter(({ absent }) => !absent);
      return found.map((observation) => ({ sandboxId, observation }));
    });
    return (await Promise.all(looks)).flat();
  }

  async #originOf({ source, snapshotId, captureId }: CloneRequest): Promise<Files> {
    if (captureId) return this.captures.filesOf(captureId);
    if (snapshotId !== null) return this.snapshots.filesOf(snapshotId);
    const { problem } = await this.source(source);
    if (problem) throw new MayflyError('source_running', `${source}: ${problem}`);
    return this.machine.images.get(source)?.files ?? new Map();
  }

  #freeLease(sandboxId: string): Lease {
    const taken = new Set([...this.machine.leases.values()].map(({ address }) => address));
    let nth = 1;
    while (taken.has(addressOf(nth))) nth++;
    const noticedAt = new Date().toISOString();
    return { address: addressOf(nth), port: 22, macAddress: macAddress(sandboxId), noticedAt };
  }

  #refuseOff(sandboxId: string): void {
    if (this.machine.isOn(sandboxId)) return;
    throw new MayflyError('sandbox_not_running', `${sandboxId} is off, or not on this host any more.`);
  }
}

function addressOf(nth: number): string {
  return `10.0.${Math.floor(nth / 250)}.${(nth % 250) + 1}`;
}

function observed(layer: Layer, found: string | undefined): Observation {
  const look = { layer, lookedAt: 'the memory of the process that tests', at: new Date().toISOString() };
  return found === undefined ? { ...look, absent: true } : { ...look, absent: false, found };
}
