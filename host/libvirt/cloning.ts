import { MayflyError } from '../../model/errors.ts';
import { domainUuid, macAddress } from '../../model/ids.ts';
import type { Boot, BootReason } from '../../model/sandbox/sandbox.ts';
import { ensureHostKey } from '../disk/host-key.ts';
import { type ImageLayer, imageChain } from '../disk/image.ts';
import { ensureOverlay } from '../disk/overlay.ts';
import { ensureSeed } from '../disk/seed.ts';
import type { Clone, CloneRequest } from '../hypervisor.ts';
import { withStepError } from '../os/exec.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import type { HostTemplate } from '../templates.ts';
import type { LibvirtCaptures } from './capture/captures.ts';
import { buildXml } from './client/xml.ts';
import { planDisks } from './domain-xml/clone-disks.ts';
import { type CloneParams, cloneXml, parseDomain } from './domain-xml/clone-xml.ts';
import { type CloneSpec, Workspace, workspaceIds } from './layers/workspace.ts';
import type { LibvirtTemplates, MachineKind } from './template/templates.ts';
import type { LibvirtTools } from './tools/tools.ts';

/** Login user of the guest, created by images and cloud-config. */
const GUEST_USER = 'sandbox';

export type CloningTools = LibvirtTools & MachineKind & { captures: LibvirtCaptures; templates: LibvirtTemplates };

/** Origin of a clone: a source, or the machine that a snapshot or a capture describes. */
interface Origin {
  xml: string;
  /** Ids of the snapshots below it, newest first. */
  snapshots: string[];
  /** Snapshot whose memory it wakes from; null: it boots. */
  wakesFrom: string | null;
  boot: Boot;
  /** Key of the template it would have woken from. `@default` none fits */
  templateKey?: string | null;
  isPlugged?: boolean;
}

/** Makes a clone's workspace: overlays, host key, seed and domain XML. Starts nothing. */
export async function cloneDisk(deps: CloningTools, request: CloneRequest, context: StepContext): Promise<Clone> {
  const finished = await new Workspace(deps.state, request.sandboxId).spec();
  if (finished) return finished.clone;
  if (request.snapshotId) return await cloneSnapshot(deps, request, request.snapshotId, context);
  const { captureId } = request;
  if (captureId) {
    const clone = (xml: string) => cloneOrigin(deps, request, { ...BOOTS, xml, boot: coldBoot('origin') }, context);
    return await deps.use.by(request.source, () => deps.captures.on(captureId, clone));
  }
  return await withSourceAtRest(deps, request.source, async (xml) => {
    const choice = await deps.templates.choose(request, xml, context);
    const woken = choice.template && (await cloneTemplate(deps, request, choice.template, context));
    if (woken) return woken;
    const boot = coldBoot(choice.template ? 'template_changed' : choice.why);
    return await cloneOrigin(deps, request, { ...BOOTS, xml, boot, templateKey: choice.key }, context);
  });
}

/** Runs `clone` while the source can be neither started nor deleted. @throws MayflyError source_running */
async function withSourceAtRest<T>(
  { sources, use, rest }: CloningTools,
  name: string,
  clone: (xml: string) => Promise<T>,
): Promise<T> {
  return await use.by(name, () =>
    rest.by(name, async () => {
      const { xml, busy } = await sources.get(name);
      if (busy !== null) throw new MayflyError('source_running', `${name}: ${busy}`);
      return await clone(xml);
    }),
  );
}

/** Gives a clone that did not wake from its template fresh disks of its source. Its identity (seed, host key) stays. */
export async function recloneCold(deps: CloningTools, spec: CloneSpec, context: StepContext): Promise<void> {
  const { request } = spec;
  await withSourceAtRest(deps, request.source, (xml) =>
    cloneOrigin(deps, request, { ...BOOTS, xml, boot: coldBoot('template_failed') }, context, 'cold'),
  );
}

const BOOTS = { snapshots: [], wakesFrom: null };

function coldBoot(why: BootReason): Boot {
  return { way: 'cold', why, templateId: null, ageSeconds: null };
}

async function cloneSnapshot(
  deps: CloningTools,
  request: CloneRequest,
  id: string,
  context: StepContext,
  isPlugged?: boolean,
): Promise<Clone> {
  return await deps.references.on(id, async ({ snapshotId, domain, spec }) => {
    const snapshots = [snapshotId, ...spec.snapshots];
    const isWoken = spec.kind === 'full';
    const ageSeconds = Math.round((Date.now() - Date.parse(spec.savedAt)) / 1_000);
    const boot: Boot = isWoken
      ? { way: 'template', why: null, templateId: snapshotId, ageSeconds }
      : coldBoot('origin');
    const wakesFrom = isWoken ? snapshotId : null;
    const origin = { xml: buildXml(domain), snapshots, wakesFrom, boot, ...(isPlugged !== undefined && { isPlugged }) };
    return await cloneOrigin(deps, request, origin, context);
  });
}

/** @returns null when the template is changed or missing; it is then retired */
async function cloneTemplate(
  deps: CloningTools,
  request: CloneRequest,
  { templateId }: HostTemplate,
  context: StepContext,
): Promise<Clone | null> {
  try {
    return await cloneSnapshot(deps, request, templateId, context, true);
  } catch (error) {
    const isSpoiled =
      error instanceof MayflyError &&
      ['source_changed', 'snapshot_not_found', 'snapshot_not_ready'].includes(error.code);
    if (!isSpoiled) throw error;
    await deps.templates.index.failed(templateId, error.message, true);
    if (request.boot === 'template') throw new MayflyError('template_unavailable', error.message, { cause: error });
    return null;
  }
}

async function cloneOrigin(
  deps: CloningTools,
  request: CloneRequest,
  { xml, snapshots, wakesFrom, boot, templateKey = null, isPlugged }: Origin,
  context: StepContext,
  by?: string,
): Promise<Clone> {
  const { sandboxId } = request;
  const workspace = new Workspace(deps.state, sandboxId);
  const overlay = by === undefined ? workspace.overlay : workspace.overlayOf('disk', by);
  const plans = planDisks(parseDomain(xml), overlay);
  context.signal.throwIfAborted();
  await workspace.make();
  const bases: CloneSpec['bases'] = [];
  const chains = new Map<string, ImageLayer[]>();
  for (const plan of plans) {
    context.alive(`cloning ${plan.target}`);
    const path = await deps.sources.pathOf(plan.base);
    const unreadable = `The source's disk ${plan.target} cannot be read as ${plan.format}`;
    const chain = await withStepError(imageChain(path, plan.format), 'clone_failed', unreadable);
    for (const layer of chain) bases.push({ path: layer.path, sha256: await deps.digests.protect(layer.path) });
    context.signal.throwIfAborted();
    await ensureOverlay(plan.overlay, path, plan.format, context.signal);
    chains.set(plan.target, chain);
  }
  await checkUnchanged(deps.state, bases);
  const hostKey = await ensureHostKey(workspace.folder, sandboxId);
  const user = GUEST_USER;
  await ensureSeed(workspace.seed, { sandboxId, hostKey, user, userCaKeys: request.userCaKeys });
  const clone = { hostKey: hostKey.publicKey, macAddress: macAddress(sandboxId), user, templateKey };
  context.signal.throwIfAborted();
  const spec = { request, clone, bases, snapshots, restoreId: null, wakesFrom, boot };
  const plugged = request.isOffline ? false : isPlugged;
  const params = { rootOverlay: overlay, ...(plugged !== undefined && { isPlugged: plugged }) };
  await workspace.change(spec, parseDomain(domainXmlOf(deps, request, xml, chains, workspace, params)));
  return clone;
}

function domainXmlOf(
  deps: CloningTools,
  request: CloneRequest,
  originXml: string,
  bases: ReadonlyMap<string, ImageLayer[]>,
  workspace: Workspace,
  params: Pick<CloneParams, 'rootOverlay' | 'isPlugged'>,
): string {
  const { isolated, internet } = deps.networks;
  return cloneXml(originXml, {
    name: request.sandboxId,
    uuid: domainUuid(request.sandboxId),
    seed: workspace.seed,
    cpus: request.cpus,
    memoryMib: request.memoryMib,
    network: request.egress === 'internet' ? internet.name : isolated.name,
    mac: (nic) => macAddress(request.sandboxId, nic),
    accelerator: deps.accelerator,
    limitsCpus: deps.limitsCpus,
    bases,
    ...params,
  });
}

/** Asserts that all clones of one disk were made of the same content: another content means that theirs is broken. */
async function checkUnchanged(state: StateDir, bases: CloneSpec['bases']): Promise<void> {
  for (const id of await workspaceIds(state)) {
    const other = await new Workspace(state, id).spec();
    for (const { path, sha256 } of other?.bases ?? []) {
      if (bases.some((base) => base.path === path && base.sha256 !== sha256)) {
        throw new MayflyError('source_changed', `The disk ${path} has changed since ${id} was cloned from it.`);
      }
    }
  }
}
