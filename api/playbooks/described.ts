import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { includesHost } from '../../model/host.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { hostOf, isFinal } from '../../model/sandbox/sandbox-state.ts';
import { contentsOf } from '../../model/source-content.ts';
import type { PolicyRequest } from '../../services/approvals/check-policy.ts';
import { requireSandbox, requireSnapshot } from '../../services/require.ts';
import { type Origin, placeableOrigin } from '../../services/sandboxes/placement.ts';
import type { RequestDeps } from '../http/context.ts';
import type { WritePlaybookRequest } from './playbook-schemas.ts';

/** What a playbook is about: a sandbox, where it is, and what it began as. */
export interface Described {
  sandbox: SandboxRecord;
  host: HostRef;
  /** When it was made, or the snapshot was taken; ISO 8601. */
  since: string;
  /** What a fresh sandbox is made of there; null: its source. */
  snapshotId: string | null;
  origin: Origin;
}

/** @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running, snapshot_not_found, no_host, and what placing refuses with */
export async function describedBy(
  deps: RequestDeps,
  sandboxId: string,
  { from, network }: WritePlaybookRequest,
): Promise<Described> {
  const sandbox = await requireSandbox(deps, sandboxId);
  const host = hostWith(sandbox);
  const { spec } = sandbox;
  const snapshotId = from ?? spec.snapshotId;
  const since = snapshotId === null ? sandbox.createdAt : (await requireSnapshot(deps, snapshotId)).createdAt;
  const of = snapshotId === null ? { source: spec.source, captureId: spec.captureId ?? undefined } : { snapshotId };
  const origin = await placeableOrigin(deps.store, { ...of, network: network ?? { egress: spec.network.egress } });
  if (includesHost(origin.hosts, host))
    return { sandbox, host, since, snapshotId, origin: { ...origin, hosts: [host] } };
  throw new MayflyError(
    'no_host',
    `Only ${host.hostId}, where ${sandbox.id} is, can compare it, and has not what it began as.`,
  );
}

/** A playbook as a policy sees it: by the fresh sandbox that it makes. */
export function playbookWish(
  deps: RequestDeps,
  playbookId: string,
  sandboxId: string,
  body: WritePlaybookRequest,
): PolicyRequest {
  const { store } = deps;
  return {
    action: 'playbook.write',
    isBegun: async () => (await store.playbooks.get(playbookId)) !== null,
    resolve: async () => {
      const { sandbox, snapshotId, origin } = await describedBy(deps, sandboxId, body);
      const { network, size, source } = origin;
      return {
        facts: { egress: network.egress, memoryMib: size.memoryMib, sandboxes: 1 },
        request: { sandboxId: sandbox.id, source, snapshotId, network, ...size },
        content: snapshotId === null ? contentsOf(await store.hosts.list(), source) : [],
      };
    },
  };
}

/** @throws MayflyError sandbox_ended, sandbox_not_running */
function hostWith(sandbox: SandboxRecord): HostRef {
  const { id, state } = sandbox;
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `${id} is ${state}: it has no present state.`);
  const host = hostOf(sandbox);
  if (host !== null && (state === 'running' || state === 'paused')) return host;
  throw new MayflyError(
    'sandbox_not_running',
    `The sandbox ${id} is ${state}: a playbook is written of one that runs, or is paused.`,
  );
}
