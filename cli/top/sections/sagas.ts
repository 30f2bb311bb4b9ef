import type { Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import type { SandboxState } from '../../../model/sandbox/sandbox-state.ts';
import { cellText, type Found, type Row, type Section, stateText } from '../rows/section.ts';

/** States of a running workflow; in the others it waits for a request. */
const UNDER_WAY = ['requested', 'creating', 'restoring', 'destroying'] as const satisfies readonly SandboxState[];
const PAGE = 100;

/** Running workflow, with its progress and its pending condition. */
interface Saga {
  sandboxId: string;
  state: SandboxState;
  phase: string | null;
  /** Last step that ended. */
  step: string | null;
  waitingFor: string | null;
  hostId: string | null;
  /** Time of its last progress. */
  updatedAt: string;
}

/** Section of creates, restores and destroys, the longest waiting first. */
export const workflows: Section<Saga> = {
  name: 'sagas',
  everyMs: 4_000,
  columns: [
    { title: 'ID', rank: 0 },
    { title: 'STATE', rank: 1 },
    { title: 'SINCE', rank: 2 },
    { title: 'LAST STEP', rank: 4 },
    { title: 'HOST', rank: 5 },
    { title: 'WAITS FOR', rank: 3 },
  ],
  read,
  row,
};

async function read(client: MayflyClient, signal: AbortSignal): Promise<Found<Saga>> {
  const items: Saga[] = [];
  let isAll = true;
  for (const state of UNDER_WAY) {
    const page = await client.listSandboxes({ state, limit: PAGE, signal });
    items.push(...page.items.map(sagaOf));
    isAll &&= page.nextCursor === null;
  }
  return { items: items.sort((a, b) => (a.updatedAt < b.updatedAt ? -1 : 1)), isAll };
}

function sagaOf({ id, state, phase, steps, waitingFor, hostId, updatedAt }: Sandbox): Saga {
  return { sandboxId: id, state, phase, step: steps.at(-1)?.step ?? null, waitingFor, hostId, updatedAt };
}

function row({ sandboxId, state, phase, step, waitingFor, hostId, updatedAt }: Saga): Row {
  const texts = [step, hostId, waitingFor].map(cellText);
  return {
    id: cellText(sandboxId),
    sandboxId,
    cells: [cellText(sandboxId), stateText(state, phase), { since: updatedAt }, ...texts],
    ...(waitingFor !== null && { tone: 'yellow' as const }),
  };
}
