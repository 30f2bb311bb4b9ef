import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { cellText, type Row, stateText } from '../rows/row.ts';
import type { Found, Section } from '../rows/section.ts';

const PAGE = 100;

/** A sandbox of which something may be left on a host. */
export interface Residue {
  sandboxId: string;
  state: string;
  hostId: string | null;
  /** What may be left, or what its removal waits for. */
  what: string;
  since: string;
}

/** What is being removed and can't go on, and what has ended without a proof: of the latest hundred of each end. */
export const residue: Section<Residue> = {
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
  row,
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

/** What may be left of it; null: nothing, or nothing that does not go in its time. */
function residueOf({ id, state, hostId, waitingFor, proof, updatedAt }: Sandbox): Residue | null {
  const about = { sandboxId: id, state, hostId, since: updatedAt };
  if (!isFinal(state)) return waitingFor === null ? null : { ...about, what: `waits for ${waitingFor}` };
  if (proof === null) return { ...about, what: 'no proof' };
  if (proof.unproved !== undefined) return { ...about, what: proof.unproved };
  const layers = unprovenLayers(proof.observations);
  return layers.length === 0 ? null : { ...about, what: `unproved: ${layers.join(', ')}` };
}

function row({ sandboxId, state, hostId, what, since }: Residue): Row {
  return {
    id: cellText(sandboxId),
    sandboxId,
    cells: [cellText(sandboxId), stateText(state, null), { since }, cellText(hostId), cellText(what)],
    tone: 'red',
  };
}
