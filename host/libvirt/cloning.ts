import { MayflyError } from '../../model/errors.ts';
import { domainUuid, macAddress } from '../../model/ids.ts';
import type { BaseDigests } from '../disk/base-digest.ts';
import { ensureHostKey } from '../disk/host-key.ts';
import { type ImageLayer, imageChain } from '../disk/image.ts';
import { ensureOverlay } from '../disk/overlay.ts';
import { ensureSeed } from '../disk/seed.ts';
import type { Clone, CloneRequest } from '../hypervisor.ts';
import { ExecError } from '../os/exec.ts';
import type { StateDir } from '../state-dir.ts';
import type { StepContext } from '../step-context.ts';
import type { LibvirtCaptures } from './capture/captures.ts';
import { buildXml } from './client/xml.ts';
import { type DiskPlan, planDisks } from './domain-xml/clone-disks.ts';
import { cloneXml, parseDomain } from './domain-xml/clone-xml.ts';
import type { References } from './layers/references.ts';
import type { Sources } from './layers/sources.ts';
import { type CloneSpec, Workspace, workspaceIds } from './layers/workspace.ts';
import type { NetworkPlans } from './network/network-plan.ts';

/** Login user of the guest; images and cloud-config make it. */
const GUEST_USER = 'sandbox';

export interface CloningDeps {
  state: StateDir;
  sources: Sources;
  digests: BaseDigests;
  references: References;
  captures: LibvirtCaptures;
  networks: NetworkPlans;
  accelerator: 'kvm' | 'tcg';
  limitsCpus: boolean;
}

/** What a clone is made of: a source, or the machine that a snapshot or a capture describes. */
interface Origin {
  xml: string;
  /** Ids of the snapshots that it refers to, the newest first. */
  snapshots: string[];
  /** The snapshot whose memory it wakes up with; null: it boots. */
  wakesFrom: string | null;
}

/** Makes a clone's workspace: overlays, host key, seed and domain XML. Nothing of it runs yet. */
export async function cloneDisk(deps: CloningDeps, request: CloneRequest, context: StepContext): Promise<Clone> {
  const finished = await new Workspace(deps.state, request.sandboxId).spec();
  if (finished) return finished.clone;
  if (request.snapshotId) {
    return await deps.references.on(request.snapshotId, async ({ snapshotId, domain, spec }) => {
      const snapshots = [snapshotId, ...spec.snapshots];
      const wakesFrom = spec.kind === 'full' ? snapshotId : null;
      return await cloneOrigin(deps, request, { xml: buildXml(domain), snapshots, wakesFrom }, context);
    });
  }
  if (request.captureId) {
    return await deps.captures.on(request.captureId, (xml) =>
      cloneOrigin(deps, request, { xml, snapshots: [], wakesFrom: null }, context),
    );
  }
  const source = await deps.sources.get(request.source);
  if (source.busy !== null) throw new MayflyError('source_running', `${request.source}: ${source.busy}`);
  return await cloneOrigin(deps, request, { xml: source.xml, snapshots: [], wakesFrom: null }, context);
}

async function cloneOrigin(
  deps: CloningDeps,
  request: CloneRequest,
  { xml, snapshots, wakesFrom }: Origin,
  context: StepContext,
): Promise<Clone> {
  const { sandboxId } = request;
  const workspace = new Workspace(deps.state, sandboxId);
  const plans = planDisks(parseDomain(xml), workspace.overlay);
  context.signal.throwIfAborted();
  await workspace.make();
  const bases: CloneSpec['bases'] = [];
  const chains = new Map<string, ImageLayer[]>();
  for (const plan of plans) {
    context.alive(`cloning ${plan.target}`);
    const path = await deps.sources.pathOf(plan.base);
    const chain = await baseChain(path, plan);
    for (const layer of chain) bases.push({ path: layer.path, sha256: await deps.digests.protect(layer.path) });
    context.signal.throwIfAborted();
    await ensureOverlay(plan.overlay, path, plan.format, context.signal);
    chains.set(plan.target, chain);
  }
  await checkUnchanged(deps.state, bases);
  const hostKey = await ensureHostKey(workspace.folder, sandboxId);
  const user = GUEST_USER;
  await ensureSeed(workspace.seed, { sandboxId, hostKey, user, userCaKeys: request.userCaKeys });
  const clone = { hostKey: hostKey.publicKey, macAddress: macAddress(sandboxId), user };
  context.signal.throwIfAborted();
  const spec = { request, clone, bases, snapshots, restoreId: null, wakesFrom };
  await workspace.finish(spec, domainXmlOf(deps, request, xml, chains, workspace));
  return clone;
}

function domainXmlOf(
  deps: CloningDeps,
  request: CloneRequest,
  originXml: string,
  bases: ReadonlyMap<string, ImageLayer[]>,
  workspace: Workspace,
): string {
  const { isolated, internet } = deps.networks;
  return cloneXml(originXml, {
    name: request.sandboxId,
    uuid: domainUuid(request.sandboxId),
    rootOverlay: workspace.overlay,
    seed: workspace.seed,
    cpus: request.cpus,
    memoryMib: request.memoryMib,
    network: request.egress === 'internet' ? internet.name : isolated.name,
    mac: (nic) => macAddress(request.sandboxId, nic),
    accelerator: deps.accelerator,
    limitsCpus: deps.limitsCpus,
    bases,
  });
}

async function baseChain(path: string, plan: DiskPlan): Promise<ImageLayer[]> {
  try {
    return await imageChain(path, plan.format);
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    const what = `The source's disk ${plan.target} cannot be read as ${plan.format}`;
    throw new MayflyError('clone_failed', `${what}: ${error.stderr.trim()}`, { cause: error });
  }
}

/** Clones of one disk must all have been made of the same content: another one means that theirs is broken. */
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
