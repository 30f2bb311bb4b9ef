import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { sizeOf } from '../../sandbox/sandbox-text.ts';
import { cellText, type Found, type Row, type Section, stateText } from '../rows/section.ts';

/** Page size: small enough to read in milliseconds, larger than a terminal. */
const PAGE = 100;

/** Fields kept of a living sandbox: a record with its steps is ten times as large. */
export type LiveSandbox = Pick<
  Sandbox,
  'id' | 'name' | 'project' | 'state' | 'phase' | 'hostId' | 'waitingFor' | 'createdAt' | 'expiresAt'
> & { source: string; size: string | null; address: string | null; egress: string };

/** Page of living sandboxes, newest first. */
export interface LivePage {
  items: LiveSandbox[];
  nextCursor: string | null;
}

export async function readLivePage(client: MayflyClient, cursor: string, signal: AbortSignal): Promise<LivePage> {
  const page = await client.listSandboxes({ alive: true, limit: PAGE, signal, ...(cursor && { cursor }) });
  return { items: page.items.map(live), nextCursor: page.nextCursor };
}

function live({ spec, ssh, ...record }: Sandbox): LiveSandbox {
  const { id, name, project, state, phase, hostId, waitingFor, createdAt, expiresAt } = record;
  const about = { source: spec.source, size: sizeOf(spec), address: ssh?.address ?? null, egress: spec.network.egress };
  return { id, name, project, state, phase, hostId, waitingFor, createdAt, expiresAt, ...about };
}

/** Section of sandboxes that have not ended. */
export const sandboxes: Section<LiveSandbox> = {
  name: 'sandboxes',
  everyMs: 2_000,
  columns: [
    { title: 'ID', rank: 0 },
    { title: 'NAME', rank: 3 },
    { title: 'STATE', rank: 1 },
    { title: 'AGE', rank: 2 },
    { title: 'SOURCE', rank: 4 },
    { title: 'SIZE', rank: 9 },
    { title: 'HOST', rank: 5 },
    { title: 'ADDRESS', rank: 6 },
    { title: 'EGRESS', rank: 8 },
    { title: 'PROJECT', rank: 7 },
  ],
  read: readAll,
  row: liveRow,
};

export function liveRow(item: LiveSandbox): Row {
  const { id, name, project, state, phase, source, size, hostId, address, egress, createdAt, waitingFor } = item;
  const texts = [source, size, hostId, address, egress, project].map(cellText);
  return {
    id: cellText(id),
    sandboxId: id,
    cells: [cellText(id), cellText(name), stateText(state, phase), { since: createdAt }, ...texts],
    ...(waitingFor !== null && { tone: 'yellow' as const }),
  };
}

async function readAll(client: MayflyClient, signal: AbortSignal): Promise<Found<LiveSandbox>> {
  const items: LiveSandbox[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: LivePage = await readLivePage(client, cursor, signal);
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return { items, isAll: true };
}
