import { z } from 'zod';
import { visibleText } from '../../model/approvals/visible-text.ts';
import type { Call } from '../call.ts';
import { cleanText, maskText } from '../clean-text.ts';
import { ToolError } from '../error-text.ts';
import { CURSOR, defined, moreLines, type Registration, tool } from '../tool.ts';
import { summaryOf } from './sandboxes.ts';
import { snapshotOf } from './snapshots.ts';

const KINDS = ['sandboxes', 'sources', 'snapshots', 'commands'] as const;

interface Asked {
  sandboxId?: string | undefined;
  limit: number;
  cursor?: string;
}

interface Listed {
  lines: string[];
  items: Record<string, unknown>[];
  nextCursor: string | null;
}

const list = tool({
  name: 'list',
  title: 'List what there is',
  description: 'List sandboxes that live, sources to create them from, or the snapshots or commands of a sandbox.',
  input: z.object({
    kind: z.enum(KINDS),
    sandboxId: z.string().max(128).optional().describe('Whose snapshots or commands'),
    limit: z.int().min(1).max(200).default(50),
    cursor: CURSOR,
  }),
  output: z.object({ items: z.array(z.looseObject({})), nextCursor: z.string().nullable() }),
  effect: 'reads',
  async run(call, { kind, cursor, ...asked }) {
    const { lines, items, nextCursor } = await LISTS[kind](call, { ...asked, ...defined({ cursor }) });
    return { text: [...lines, ...moreLines(nextCursor)].join('\n') || 'There are none.', data: { items, nextCursor } };
  },
});

export const listTools: Registration[] = [list];

const LISTS: Record<(typeof KINDS)[number], (call: Call, asked: Asked) => Promise<Listed>> = {
  sandboxes: async ({ client, signal }, { limit, ...asked }) => {
    const page = { limit, ...defined({ cursor: asked.cursor }) };
    const { items, nextCursor } = await client.listSandboxes({ ...page, alive: true, signal });
    const found = items.map(summaryOf);
    const lines = found.map(({ sandboxId, name, state, source }) => `${sandboxId} ${name ?? '-'} ${state} ${source}`);
    return { lines, items: found, nextCursor };
  },
  sources: async ({ client, signal }) => {
    const { items } = await client.listSources({ signal });
    const found = items.map(({ name, hosts }) => ({ source: cleanText(name), hosts }));
    return { lines: found.map(({ source }) => source), items: found, nextCursor: null };
  },
  snapshots: async ({ client, signal }, { sandboxId, ...page }) => {
    const { items, nextCursor } = await client.snapshots.list(required(sandboxId), { ...page, signal });
    const found = items.map(snapshotOf);
    const lines = found.map(({ snapshotId, name, kind, state }) => `${snapshotId} ${name} ${kind} ${state}`);
    return { lines, items: found, nextCursor };
  },
  commands: async ({ client, signal }, { sandboxId, ...page }) => {
    const { items, nextCursor } = await client.commands.list(required(sandboxId), { ...page, signal });
    const found = items.map(({ id, state, outcome, exitCode, spec }) => {
      const command = visibleText(maskText(spec.command ?? (spec.argv ?? []).join(' '))).slice(0, 200);
      return { commandId: id, state, outcome, exitCode, command };
    });
    const lines = found.map(
      (one) => `${one.commandId} ${one.outcome ?? one.state} ${one.exitCode ?? '-'} ${one.command}`,
    );
    return { lines, items: found, nextCursor };
  },
};

function required(sandboxId: string | undefined): string {
  if (sandboxId !== undefined) return sandboxId;
  throw new ToolError('These are of one sandbox.', 'Call it again with `sandboxId`.');
}
