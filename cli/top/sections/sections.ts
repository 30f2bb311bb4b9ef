import type { Approval, Pool, Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../../model/limits.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { requestText } from '../../approval/approval-text.ts';
import { POOL_HEADER, poolRow } from '../../pool/commands.ts';
import {
  type AnySection,
  anySection,
  cellText,
  type Found,
  type Row,
  type Section,
  stateText,
} from '../rows/section.ts';
import { workflows } from './sagas.ts';
import { sandboxes } from './sandboxes.ts';

const PAGE = 100;

/** Sandbox with possible residue on a host. */
interface Residue {
  sandboxId: string;
  state: string;
  hostId: string | null;
  /** Possible residue, or what its removal waits for. */
  what: string;
  since: string;
}

/** Section of blocked removals, and of ends without a proof: the latest hundred of each state. */
const residue: Section<Residue> = {
  name: 'residue',
  everyMs: 30_000,
  columns: [
    { title: 'ID', rank: 0 },
    { title: 'STATE', rank: 2 },
    { title: 'SINCE', rank: 3 },
    { title: 'HOST', rank: 4 },
    { title: 'LEFT', rank: 1 },
  ],
  read,
  row: residueRow,
};

async function read(client: MayflyClient, signal: AbortSignal): Promise<Found<Residue>> {
  const items: Residue[] = [];
  let isAll = true;
  for (const state of ['destroying', 'failed', 'destroyed'] as const) {
    const page = await client.listSandboxes({ state, limit: PAGE, signal });
    items.push(...page.items.flatMap((record) => residueOf(record) ?? []));
    if (state === 'destroying') isAll = page.nextCursor === null;
  }
  return { items, isAll };
}

/** Returns possible residue; null: none, or its removal is in progress. */
function residueOf({ id, state, hostId, waitingFor, proof, updatedAt }: Sandbox): Residue | null {
  const about = { sandboxId: id, state, hostId, since: updatedAt };
  if (!isFinal(state)) return waitingFor === null ? null : { ...about, what: `waits for ${waitingFor}` };
  if (proof === null) return { ...about, what: 'no proof' };
  if (proof.unproved !== undefined) return { ...about, what: proof.unproved };
  const layers = unprovenLayers(proof.observations);
  return layers.length === 0 ? null : { ...about, what: `unproved: ${layers.join(', ')}` };
}

function residueRow({ sandboxId, state, hostId, what, since }: Residue): Row {
  return {
    id: cellText(sandboxId),
    sandboxId,
    cells: [cellText(sandboxId), stateText(state, null), { since }, cellText(hostId), cellText(what)],
    tone: 'red',
  };
}

type PoolState = Pick<
  Pool,
  'project' | 'name' | 'shared' | 'state' | 'source' | 'members' | 'wanted' | 'claims' | 'reason' | 'retryAt'
>;

/** Ranks of the columns on a narrow terminal. */
const RANKS = [0, 1, 5, 2, 3, 6, 7];

/** Section of pools, with the reason for a lack of members. */
const pools: Section<PoolState> = {
  name: 'pools',
  everyMs: 4_000,
  columns: [...POOL_HEADER.map((title, nth) => ({ title, rank: RANKS[nth] ?? 8 })), { title: 'WHY', rank: 4 }],
  read: async (client, signal) => {
    const { items } = await client.pools.list({ signal });
    return { items: items.map(toPoolState), isAll: true };
  },
  row: rowOfPool,
};

function toPoolState({
  project,
  name,
  shared,
  state,
  source,
  members,
  wanted,
  claims,
  reason,
  retryAt,
}: Pool): PoolState {
  return { project, name, shared, state, source, members, wanted, claims, reason, retryAt };
}

function rowOfPool(pool: PoolState): Row {
  return {
    id: cellText(`${pool.project} ${pool.name}`),
    sandboxId: null,
    cells: [...poolRow(pool).map(cellText), cellText(pool.reason)],
    ...(pool.reason !== null && { tone: 'yellow' as const }),
  };
}

/** Section of pending approvals. */
const approvals: Section<Approval> = {
  name: 'approvals',
  everyMs: 4_000,
  columns: [
    { title: 'ID', rank: 0 },
    { title: 'WAITS', rank: 2 },
    { title: 'ACTION', rank: 1 },
    { title: 'FOR', rank: 5 },
    { title: 'RULES', rank: 4 },
    { title: 'REQUEST', rank: 3 },
  ],
  read: async (client, signal) => {
    const query = { state: 'awaiting-approval', limit: LIMITS.approvals.waiting, signal } as const;
    const { items, nextCursor } = await client.approvals.list(query);
    return { items, isAll: nextCursor === null };
  },
  row: approvalRow,
};

function approvalRow(approval: Approval): Row {
  const { id, askedAt, action, askedBy, rules, request } = approval;
  const by = cellText(askedBy.agentId ?? askedBy.apiKeyId);
  const cells = [id, { since: askedAt }, action, by, cellText(rules.join(' ')), cellText(requestText(request))];
  return { id, sandboxId: null, approval, cells };
}

/** Sections of `mayfly top`, in the order of their keys. Another one is a file in sections/ and a line here. */
export const SECTIONS: readonly AnySection[] = [
  anySection(sandboxes),
  anySection(workflows),
  anySection(pools),
  anySection(approvals),
  anySection(residue),
];
