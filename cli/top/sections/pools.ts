import type { Pool } from '../../../clients/typescript/http/openapi.ts';
import { POOL_HEADER, poolRow } from '../../pool/pool-text.ts';
import { cellText, type Row } from '../rows/row.ts';
import type { Section } from '../rows/section.ts';

type PoolState = Pick<
  Pool,
  'project' | 'name' | 'shared' | 'state' | 'source' | 'members' | 'wanted' | 'claims' | 'reason' | 'retryAt'
>;

/** Where there is no room for all: which are left out first. */
const RANKS = [0, 1, 5, 2, 3, 6, 7];

/** What is kept ready, and why it is too little. */
export const pools: Section<PoolState> = {
  name: 'pools',
  everyMs: 4_000,
  columns: [...POOL_HEADER.map((title, nth) => ({ title, rank: RANKS[nth] ?? 8 })), { title: 'WHY', rank: 4 }],
  read: async (client, signal) => {
    const { items } = await client.pools.list({ signal });
    return { items: items.map(told), isAll: true };
  },
  row,
};

function told({ project, name, shared, state, source, members, wanted, claims, reason, retryAt }: Pool): PoolState {
  return { project, name, shared, state, source, members, wanted, claims, reason, retryAt };
}

function row(pool: PoolState): Row {
  return {
    id: cellText(`${pool.project} ${pool.name}`),
    sandboxId: null,
    cells: [...poolRow(pool).map(cellText), cellText(pool.reason)],
    ...(pool.reason !== null && { tone: 'yellow' as const }),
  };
}
