import { constants, copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BakedImage } from '../../model/baked-source.ts';
import { MayflyError } from '../../model/errors.ts';
import { domainUuid } from '../../model/ids.ts';
import type { SavedDisk } from '../../model/snapshot.ts';
import { flushFile } from '../atomic-file.ts';
import { BakedFolder } from '../baked-folder.ts';
import type { BakeRequest, HostBaking } from '../baking.ts';
import type { BaseDigests } from '../disk/base-digest.ts';
import { checkImage, mostCopied, virtualBytesOf } from '../disk/image.ts';
import { ExecError, exec } from '../exec.ts';
import type { StepContext } from '../hypervisor.ts';
import type { StateDir } from '../state-dir.ts';
import { AgentConsole } from './agent-console.ts';
import { bakedXml, bootFiles } from './baked-xml.ts';
import { CLEAN_GUEST } from './clean-guest.ts';
import { planDisks } from './clone-disks.ts';
import { layeredDisks } from './disk-layers.ts';
import type { Domains } from './domains.ts';
import type { GuestAgent } from './guest-agent.ts';
import type { Leaning } from './leaning.ts';
import { isActive } from './output/domain-state.ts';
import type { SourceUse } from './source-use.ts';
import type { Sources } from './sources.ts';
import { type Virsh, VirshError } from './virsh.ts';
import { Workspace } from './workspace.ts';
import { buildXml } from './xml.ts';

export interface BakingDeps {
  state: StateDir;
  virsh: Virsh;
  domains: Domains;
  sources: Sources;
  digests: BaseDigests;
  leaning: Leaning;
  use: SourceUse;
  agent: GuestAgent;
}

/** From the first login to the guest agent: some seconds under emulation. Milliseconds. */
const AGENT_MS = 60_000;
/** Emptying a guest of a million small files takes minutes under emulation. Milliseconds. */
const CLEAN_MS = 600_000;
/** A guest that has not gone down by then hangs: systemd gives a unit 90 s. Milliseconds. */
const SHUTDOWN_MS = 180_000;
const LOOK_EVERY_MS = 200;
/**
 * Not libvirt's own: a guest without logind hears neither the power button nor the agent's guest-shutdown, which asks
 * for `+0` minutes. In a moment, so that the agent can still say that it was told.
 */
const POWER_OFF = ['/bin/sh', '-c', '(sleep 1; exec /sbin/shutdown -P now) </dev/null >/dev/null 2>&1 &'];
/** A copy is stopped by its step's time, not by a time of its own. Milliseconds. */
const COPY_MS = 3_600_000;
/** What `bakedXml` puts the root disk under; further ones get the target into their name. */
const ROOT_DISK = 'disk.qcow2';
const COMPLAINT_CHARACTERS = 500;

/**
 * Sources of libvirt are persistent domains. The guest is cleaned from inside, where its file systems are mounted anyway:
 * the host reads none of them. What is then copied is the whole chain, below which nothing is left to lean on.
 */
export class LibvirtBaking implements HostBaking {
  constructor(private readonly deps: BakingDeps) {}

  async claim(request: BakeRequest): Promise<void> {
    const folder = this.folder(request.name);
    if (!(await folder.isOf(request.bakeId)) && (await this.isDomain(request.name))) {
      throw new MayflyError('source_exists', `libvirt has a domain named ${JSON.stringify(request.name)}.`);
    }
    await folder.stage(request);
  }

  async clean({ builderId }: BakeRequest, context: StepContext): Promise<void> {
    const { signal } = context;
    context.alive('waiting for the guest agent');
    const deadline = Date.now() + AGENT_MS; // it starts after sshd; who never answers is told of below
    while (!(await this.deps.agent.answers(builderId)) && Date.now() < deadline) {
      await sleep(LOOK_EVERY_MS);
      signal.throwIfAborted();
    }
    context.alive('cleaning the guest');
    const guest = new AgentConsole(this.deps.virsh, builderId);
    try {
      const argv = ['/bin/sh', '-c', CLEAN_GUEST];
      const { exitCode, stderr } = await guest.run(argv, { signal, timeoutMs: CLEAN_MS });
      if (exitCode === 0) return;
      throw new MayflyError('bake_failed', `The guest could not be cleaned: ${complaint(stderr)}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof MayflyError) || !['prepare_failed', 'source_not_running'].includes(error.code))
        throw error;
      throw new MayflyError('bake_failed', `${builderId} cannot be cleaned. ${error.message}`, { cause: error });
    }
  }

  async shutDown({ builderId }: BakeRequest, context: StepContext): Promise<void> {
    const { virsh, domains } = this.deps;
    const { signal } = context;
    const deadline = Date.now() + SHUTDOWN_MS;
    let isTold = false;
    for (;;) {
      signal.throwIfAborted();
      const state = (await domains.describe(builderId))?.state;
      if (state === undefined)
        throw new MayflyError('bake_failed', `${builderId} is gone: it was destroyed meanwhile.`);
      if (!isActive(state)) return;
      if (Date.now() > deadline)
        throw new MayflyError('bake_failed', `${builderId} does not shut down: it is ${state}.`);
      context.alive(`${builderId} is ${state}`);
      if (!isTold) isTold = await new AgentConsole(virsh, builderId).run(POWER_OFF, { signal }).then(isTaken, notYet);
      await sleep(LOOK_EVERY_MS);
    }
  }

  async sizeOf(request: BakeRequest): Promise<number> {
    const workspace = new Workspace(this.deps.state, request.builderId);
    const isMade = (await this.folder(request.name).imageOf(request)) !== null;
    if (isMade || (await workspace.spec()) === null) return 0;
    let sum = 0;
    for (const { layers } of layeredDisks(await workspace.domain())) {
      const [{ path, format }] = layers;
      sum += await mostCopied(path, format).catch((error: unknown) => refuseCopy(path, error));
    }
    return sum;
  }

  async flatten(request: BakeRequest, context: StepContext): Promise<BakedImage> {
    const { state, domains } = this.deps;
    const workspace = new Workspace(state, request.builderId);
    return await this.folder(request.name).fill(request, async (folder) => {
      const isOn = isActive((await domains.describe(request.builderId))?.state ?? 'shut_off');
      if (isOn || (await workspace.spec()) === null) {
        const why = isOn ? 'it is on, so its disks are being written' : 'it is not on this host any more';
        throw new MayflyError('bake_failed', `${request.builderId} cannot be copied: ${why}.`);
      }
      const domain = await workspace.domain();
      const disks: SavedDisk[] = [];
      const plans = planDisks(domain, join(folder, ROOT_DISK));
      for (const { target, layers } of layeredDisks(domain)) {
        const plan = plans.find((one) => one.target === target);
        if (!plan) continue;
        context.alive(`copying ${target}`);
        disks.push({ target, ...(await this.copied(layers[0], plan.overlay, context.signal)) });
      }
      for (const { name, path } of bootFiles(domain)) await copyWhole(path, join(folder, name));
      return { disks, sizeBytes: disks.reduce((sum, { storedBytes }) => sum + storedBytes, 0) };
    });
  }

  async publish(request: BakeRequest, { signal }: StepContext): Promise<void> {
    const folder = this.folder(request.name);
    const workspace = new Workspace(this.deps.state, request.builderId);
    signal.throwIfAborted();
    if (!(await folder.isOf(request.bakeId)) && (await this.isDomain(request.name))) {
      throw new MayflyError('source_exists', `libvirt has a domain named ${JSON.stringify(request.name)}.`);
    }
    const builder = await workspace.domain();
    await folder.publish(request);
    const disks = (await folder.about())?.image?.disks ?? [];
    const rootDisk = join(folder.path, ROOT_DISK);
    for (const { target, overlay } of planDisks(builder, rootDisk)) {
      const sha256 = await this.deps.digests.protect(overlay);
      if (disks.some((disk) => disk.target === target && disk.sha256 === sha256)) continue;
      throw new MayflyError('bake_failed', `${overlay} is not what was copied.`);
    }
    const boot = new Map(bootFiles(builder).map(({ name }) => [name, join(folder.path, name)]));
    const uuid = domainUuid(request.sourceId);
    const xml = bakedXml(buildXml(builder), request, { uuid, rootDisk, boot });
    try {
      await this.deps.virsh.define('define', xml);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      throw new MayflyError('bake_failed', `libvirt does not take the source: ${error.message}`, { cause: error });
    }
  }

  async retract({ sourceId, name, bakeId }: BakeRequest): Promise<void> {
    if (await this.folder(name).isOf(bakeId)) await this.remove({ sourceId, name });
  }

  async discard(request: BakeRequest): Promise<void> {
    await this.folder(request.name).discard(request);
  }

  async remove({ sourceId, name }: { sourceId: string; name: string }): Promise<void> {
    const folder = this.folder(name);
    await this.deps.use.without(name, async () => {
      await folder.isThere(sourceId);
      const leaners = await this.deps.leaning.onFiles(folder.path);
      if (leaners !== null) throw new MayflyError('source_in_use', `${name} is leant on by ${leaners}.`);
      await this.undefine(domainUuid(sourceId), name);
      await folder.drop();
      await this.deps.digests.forget(folder.path);
    });
  }

  /** By its UUID: virsh would take some names for something else. */
  private async undefine(uuid: string, name: string): Promise<void> {
    try {
      const xml = await this.deps.virsh.run(['domstate', uuid]);
      if (!/shut off|crashed/.test(xml)) {
        throw new MayflyError('source_running', `${name} is ${xml.trim()}: shut it down, then delete it.`);
      }
      await this.deps.virsh.run([
        'undefine',
        uuid,
        '--nvram',
        '--managed-save',
        '--snapshots-metadata',
        '--checkpoints-metadata',
      ]);
    } catch (error) {
      if (!(error instanceof VirshError && error.failure.result === 'not_found')) throw error;
    }
  }

  private async copied(
    from: { path: string; format: string },
    to: string,
    signal: AbortSignal,
  ): Promise<Omit<SavedDisk, 'target'>> {
    try {
      await rm(to, { force: true });
      const formats = ['-f', from.format, '-O', 'qcow2'];
      await exec('qemu-img', ['convert', '-q', ...formats, '--', from.path, to], { signal, timeoutMs: COPY_MS });
      await checkImage(to, signal);
      await flushFile(to); // what is called ready survives a power cut
      const sha256 = await this.deps.digests.protect(to);
      if (sha256 === null) throw new MayflyError('bake_failed', `${to} is not a file.`);
      return { sha256, virtualBytes: await virtualBytesOf(to), storedBytes: (await stat(to)).blocks * 512 };
    } catch (error) {
      signal.throwIfAborted();
      refuseCopy(from.path, error);
    }
  }

  private async isDomain(name: string): Promise<boolean> {
    try {
      await this.deps.sources.get(name);
      return true;
    } catch (error) {
      if (error instanceof MayflyError && error.code === 'source_not_found') return false;
      throw error;
    }
  }

  private folder(name: string): BakedFolder {
    return new BakedFolder(join(this.deps.state.images, 'baked'), name);
  }
}

const isTaken = ({ exitCode }: { exitCode: number | null }) => exitCode === 0;

/** The agent may answer again in a moment; that it goes down before it answers is what was asked of it. */
function notYet(error: unknown): false {
  if (error instanceof VirshError || error instanceof MayflyError) return false;
  throw error;
}

/** @throws MayflyError bake_failed when qemu-img failed */
function refuseCopy(path: string, error: unknown): never {
  if (!(error instanceof ExecError)) throw error;
  throw new MayflyError('bake_failed', `The disk ${path} could not be copied: ${error.message}`, { cause: error });
}

/** The guest's words. */
function complaint(text: string): string {
  return text
    .slice(-COMPLAINT_CHARACTERS)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
}

async function copyWhole(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await flushFile(to);
}
