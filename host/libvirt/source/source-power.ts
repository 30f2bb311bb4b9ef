import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../../model/errors.ts';
import type { SourcePowerResult } from '../../../model/snapshots/source-power.ts';
import { poll } from '../../os/poll.ts';
import type { SourcePower, StartRequest, StopRequest } from '../../source-power.ts';
import type { StepContext } from '../../step-context.ts';
import { nullIfMissing, VirshError } from '../client/virsh.ts';
import { child, childElements, textOf } from '../client/xml.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import { isAgentSilent } from '../guest/guest-agent.ts';
import { powerOff } from '../guest/power-off.ts';
import type { Source } from '../layers/sources.ts';
import { type DomainState, domainState, isActive } from '../output/domain-state.ts';
import { removeFailure, startFailure } from '../output/failures.ts';
import { names } from '../output/tables.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { DiskWriteGuard } from './disk-sharing.ts';

/** Timeout of a start, or an end, by another process. Milliseconds. */
const FOREIGN_JOB_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 200;
/** Timeout of one ping; pings are repeated. Seconds. */
const PING_SECONDS = 5;
const PING = '{"execute":"guest-ping"}';
/** Interval between two ways of shutdown: a guest may have ignored the first while it booted. Milliseconds. */
const SHUTDOWN_RETRY_MS = 10_000;
const AGENT_CHANNEL = 'org.qemu.guest_agent.0';

/** Power of the sources' domains, addressed by UUID, since virsh takes some names for the id of another domain. */
export class LibvirtSourcePower implements SourcePower {
  constructor(private readonly deps: LibvirtTools) {}

  async start({ source: name, answersMs }: StartRequest, context: StepContext): Promise<SourcePowerResult> {
    const { use, rest, sources } = this.deps;
    const source = await sources.get(name);
    const wasActive = isActive(await this.#stateOf(source));
    if (wasActive) await this.#run(source, context);
    else await use.by(name, () => rest.without(name, () => this.#boot(source, context)));
    return { guestAnswers: await this.#answers(source, wasActive ? 0 : answersMs, context) };
  }

  async stop({ source: name, force, withinMs }: StopRequest, context: StepContext): Promise<void> {
    const source = await this.deps.sources.get(name);
    const state = await this.#stateOf(source);
    if (!isActive(state)) return;
    await this.#assertPersistent(source);
    if (force) return await this.#destroy(source);
    if (state === 'paused' || state === 'suspended') {
      throw stopFailed(source, `it is ${state}, so its guest does not hear it`);
    }
    await this.#shutDown(source, withinMs, context);
  }

  /** Boots the source. Its disks are checked only now, when it can no longer be cloned. */
  async #boot(source: Source, context: StepContext): Promise<void> {
    context.alive('looking at who refers to its disks');
    await new DiskWriteGuard(this.deps).release(source);
    context.signal.throwIfAborted();
    try {
      await this.deps.virsh.run(['start', uuidOf(source)], { signal: context.signal });
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      if (startFailure(error.stderr).result !== 'ok') throw startFailed(source, error.message, error);
    }
    await this.#run(source, context);
  }

  /** Waits for a start that libvirt continues after its virsh was killed: the domain is paused until QEMU is set up. */
  async #run(source: Source, context: StepContext): Promise<void> {
    const look = async () => {
      const state = await this.#stateOf(source);
      context.alive(`it is ${state}`);
      return state === 'running' || !isActive(state) ? state : null;
    };
    const state = await poll(look, {
      everyMs: LOOK_EVERY_MS,
      withinMs: FOREIGN_JOB_TIMEOUT_MS,
      signal: context.signal,
    });
    if (state !== 'running') throw startFailed(source, `it is ${state ?? 'still being started'}`);
  }

  /** @returns null when the domain has no agent channel */
  async #answers(source: Source, withinMs: number, context: StepContext): Promise<boolean | null> {
    const devices = child(parseDomain(source.xml), 'devices');
    const channels = devices ? childElements(devices, 'channel') : [];
    if (!channels.some((channel) => child(channel, 'target')?.attributes['name'] === AGENT_CHANNEL)) return null;
    const ping = ['qemu-agent-command', uuidOf(source), `--timeout=${PING_SECONDS}`, PING];
    const look = async () => {
      context.alive('waiting for its guest agent');
      return (await this.#tryCommand(ping)) || null;
    };
    return (await poll(look, { everyMs: LOOK_EVERY_MS, withinMs, signal: context.signal })) ?? false;
  }

  async #shutDown(source: Source, withinMs: number, context: StepContext): Promise<void> {
    const uuid = uuidOf(source);
    const ways = [
      () => powerOff(this.deps.virsh, uuid, context.signal),
      () => this.#tryCommand(['shutdown', uuid]),
      () => this.#tryCommand(['shutdown', uuid, '--mode=acpi']),
    ];
    const deadline = Date.now() + withinMs;
    let nextAt = Date.now();
    for (;;) {
      const state = await this.#stateOf(source);
      if (!isActive(state)) return;
      if (Date.now() > deadline)
        throw stopFailed(source, `it was told to, and is ${state} after ${withinMs / 1_000} s`);
      context.alive(`it is ${state}`);
      if (Date.now() >= nextAt) {
        const way = ways.shift();
        if (way) ways.push(way);
        nextAt = (await way?.()) ? Date.now() + SHUTDOWN_RETRY_MS : 0;
      }
      await sleep(LOOK_EVERY_MS);
      context.signal.throwIfAborted();
    }
  }

  /** @returns false when libvirt cannot deliver the command, as without an agent or ACPI */
  async #tryCommand(command: readonly string[]): Promise<boolean> {
    try {
      await this.deps.virsh.run(command);
      return true;
    } catch (error) {
      if (error instanceof VirshError || isAgentSilent(error)) return false;
      throw error;
    }
  }

  async #destroy(source: Source): Promise<void> {
    try {
      await this.deps.virsh.run(['destroy', uuidOf(source)]);
    } catch (error) {
      if (!(error instanceof VirshError)) throw error;
      if (removeFailure(error.stderr).result !== 'ok') throw stopFailed(source, error.message, error);
    }
  }

  /** Refuses a transient domain, which libvirt forgets when it goes off. */
  async #assertPersistent(source: Source): Promise<void> {
    const kept = names(await this.deps.virsh.run(['list', '--all', '--persistent', '--uuid']));
    if (kept.includes(uuidOf(source))) return;
    throw stopFailed(source, 'it is transient: libvirt would forget it, and nobody could start it again');
  }

  /** @throws MayflyError source_not_found */
  async #stateOf(source: Source): Promise<DomainState> {
    const state = await nullIfMissing(this.deps.virsh.run(['domstate', uuidOf(source)]));
    if (state !== null) return domainState(state);
    throw new MayflyError(
      'source_not_found',
      `There is no source ${JSON.stringify(source.name)} on this host any more.`,
    );
  }
}

function uuidOf({ xml }: Source): string {
  return textOf(child(parseDomain(xml), 'uuid'));
}

function startFailed({ name }: Source, why: string, cause?: unknown): MayflyError {
  return new MayflyError('source_start_failed', `${JSON.stringify(name)} did not start: ${why}.`, { cause });
}

function stopFailed({ name }: Source, why: string, cause?: unknown): MayflyError {
  return new MayflyError('source_stop_failed', `${JSON.stringify(name)} did not stop: ${why}.`, { cause });
}
