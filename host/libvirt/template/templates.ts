import { rm } from 'node:fs/promises';
import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { LONGEST_CHECK_SECONDS } from '../../../model/image/ready.ts';
import type { BootReason } from '../../../model/sandbox/sandbox.ts';
import type { CloneRequest } from '../../hypervisor.ts';
import { orAbsent } from '../../os/absent.ts';
import { oneLine } from '../../os/one-line.ts';
import type { StepContext } from '../../step-context.ts';
import type { HostTemplate, HostTemplates, TemplateRequest, TemplateUse } from '../../templates.ts';
import { buildXml } from '../client/xml.ts';
import { AgentConsole } from '../guest/agent-console.ts';
import { SnapshotFolder } from '../layers/snapshot-folder.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { PREPARE_TEMPLATE_GUEST } from './settle-guest.ts';
import { TemplateIndex } from './template-index.ts';
import { buildHardware, takePrograms, templateKeyOf } from './template-key.ts';

/** Capabilities of this machine for sandboxes, detected when it was opened. */
export interface MachineKind {
  accelerator: 'kvm' | 'tcg';
  limitsCpus: boolean;
}

type Choice = { template: HostTemplate; key: string } | { template: null; key: string | null; why: BootReason };

/** Longest boot of a guest without a network, on a busy machine under TCG. Milliseconds. */
const AGENT_MS = 180_000;
const SETTLE_MS = 120_000 + LONGEST_CHECK_SECONDS * 1_000;
const COMPLAINT_CHARACTERS = 300;

/** Templates as snapshots with memory, of guests without any login. */
export class LibvirtTemplates implements HostTemplates {
  readonly index: TemplateIndex;
  #version: string | null = null;

  /** @param kind valid after {@link LibvirtHypervisor.open}; null: no templates here */
  constructor(
    private readonly deps: LibvirtTools,
    private readonly kind: (() => MachineKind) | null,
  ) {
    this.index = new TemplateIndex(deps.state.templates);
  }

  async keyOf(request: TemplateRequest, context: StepContext): Promise<string | null> {
    const { xml } = await this.deps.sources.get(request.source);
    return await this.#keyOf(request, xml, context);
  }

  /** Chooses a clone's template. @throws MayflyError template_unavailable when one is required and none is ready */
  async choose(request: CloneRequest, sourceXml: string, context: StepContext): Promise<Choice> {
    const { boot = 'cold', project, source, cpus, memoryMib } = request;
    if (boot === 'cold' || project === undefined) return { template: null, key: null, why: 'asked' };
    const key = await this.#keyOf({ project, source, cpus, memoryMib }, sourceXml, context);
    const template = key === null ? null : await this.index.ready(key);
    if (key !== null && template) return { template, key };
    if (boot === 'template') {
      throw new MayflyError('template_unavailable', `No template of ${source} is ready on this host.`);
    }
    return { template: null, key, why: key === null ? 'unsupported' : 'no_template' };
  }

  async settle(builderId: string, context: StepContext): Promise<void> {
    const { agent, virsh } = this.deps;
    const { signal } = context;
    context.alive('waiting for the guest agent');
    await agent.wait(builderId, AGENT_MS, signal);
    context.alive('settling the guest');
    try {
      const argv = ['/bin/sh', '-c', PREPARE_TEMPLATE_GUEST];
      const said = await new AgentConsole(virsh, builderId).run(argv, { signal, timeoutMs: SETTLE_MS });
      if (said.exitCode === 0 && said.stdout.trim() === 'settled') return;
      throw new MayflyError('template_failed', `The guest does not settle: ${complaint(said)}.`);
    } catch (error) {
      signal.throwIfAborted();
      if (!isMayflyError(error, 'prepare_failed')) throw error;
      throw new MayflyError('template_failed', `The guest does not settle: ${error.message}`, { cause: error });
    }
  }

  async publish(template: HostTemplate): Promise<void> {
    const spec = await new SnapshotFolder(this.deps.state, template.templateId).spec();
    if (!spec?.memorySha256) {
      throw new MayflyError('template_failed', `${template.templateId} has no memory that was checked.`);
    }
    await this.index.put(template);
  }

  async retire(templateId: string): Promise<void> {
    await this.index.drop(templateId);
    await rm(new SnapshotFolder(this.deps.state, templateId).memory, { force: true });
  }

  async uses(): Promise<TemplateUse[]> {
    return await this.index.uses();
  }

  async #keyOf(request: TemplateRequest, sourceXml: string, context: StepContext): Promise<string | null> {
    const { project, cpus, memoryMib } = request;
    if (this.kind === null) return null;
    const hardware = buildHardware({ sourceXml, cpus, memoryMib, ...this.kind() });
    if (hardware === null) return null;
    const disks = await this.deps.sources.digestsOf(sourceXml, context);
    if (disks === null) return null;
    const programs = await Promise.all(takePrograms(hardware).map((path) => orAbsent(this.deps.digests.of(path))));
    const found = programs.filter((digest) => digest !== null);
    if (found.length < programs.length) return null; // libvirt sees files that this process does not
    this.#version ??= await this.deps.virsh.run(['version']);
    return await templateKeyOf(project, buildXml(hardware), [...disks, ...found], this.#version);
  }
}

function complaint({ exitCode, stderr }: { exitCode: number | null; stderr: string }): string {
  return oneLine(stderr.slice(-COMPLAINT_CHARACTERS)) || `exit status ${exitCode}`;
}
