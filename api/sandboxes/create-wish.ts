import type { Context } from 'hono';
import { contentsOf } from '../../model/source-content.ts';
import type { Attempt } from '../../services/idempotent-attempt.ts';
import { placeableOrigin } from '../../services/sandboxes/placement.ts';
import type { Wish } from '../approvals/permission.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Request, specOf } from './sandbox-spec.ts';

/**
 * A create, or a fork, as a policy sees it: with what it is made of, how large it is and what it can reach, wherever it has
 * that from.
 * @param ids of all sandboxes that it makes
 */
export function createWish(
  c: Context<Env>,
  { store }: RequestDeps,
  { lead }: Pick<Attempt, 'lead'>,
  request: Request,
  ids: readonly string[],
): Wish {
  return {
    action: 'sandbox.create',
    project: c.get('apiKey').project,
    agentId: request.agentId,
    isBegun: async () => {
      const begun = lead.memberId !== null && lead.isFixed ? [lead.memberId] : ids;
      return (await Promise.all(begun.map((id) => store.sandboxes.get(id)))).every((record) => record !== null);
    },
    resolve: async () => {
      const origin = await placeableOrigin(store, request);
      const { network, size, source } = origin;
      const spec = { ...specOf(request, origin), ...size };
      const contents = origin.snapshotId === null ? contentsOf(await store.hosts.list(), source) : [];
      return {
        facts: { egress: network.egress, memoryMib: size.memoryMib, sandboxes: ids.length },
        request: { name: request.name ?? null, count: ids.length, ...spec },
        content: contents,
      };
    },
  };
}
