import { z } from 'zod';
import type { Command } from '../../clients/typescript/http/openapi.ts';
import { toVisibleText } from '../../model/approvals/visible-text.ts';
import { fittingPage } from '../lib/bounded.ts';
import type { Call } from '../lib/call.ts';
import { cleanText, maskText, ToolError } from '../lib/error-text.ts';
import { CURSOR, moreLines, omitUndefined, type Registration, tool } from '../lib/tool.ts';
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
    const { lines, items, nextCursor } = await LISTS[kind](call, { ...asked, ...omitUndefined({ cursor }) });
    return { text: [...lines, ...moreLines(nextCursor)].join('\n') || 'There are none.', data: { items, nextCursor } };
  },
});

export const listTools: Registration[] = [list];

const LISTS: Record<(typeof KINDS)[number], (call: Call, asked: Asked) => Promise<Listed>> = {
  sandboxes: ({ client, signal }, { limit, ...asked }) =>
    readListPage(
      (most) => client.listSandboxes({ ...omitUndefined({ cursor: asked.cursor }), limit: most, alive: true, signal }),
      limit,
      summaryOf,
      ({ sandboxId, name, state, source }) => `${sandboxId} ${name ?? '-'} ${state} ${source}`,
    ),
  sources: async ({ client, signal }) => {
    const { items } = await client.listSources({ signal });
    const found = items.map(({ name, hosts }) => ({ source: cleanText(name), hosts }));
    return { lines: found.map(({ source }) => source), items: found, nextCursor: null };
  },
  snapshots: ({ client, signal }, { sandboxId, limit, ...page }) =>
    readListPage(
      (most) => client.snapshots.list(requireSandboxId(sandboxId), { ...page, limit: most, signal }),
      limit,
      snapshotOf,
      ({ snapshotId, name, kind, state }) => `${snapshotId} ${name} ${kind} ${state}`,
    ),
  commands: ({ client, signal }, { sandboxId, limit, ...page }) =>
    readListPage(
      (most) => client.commands.list(requireSandboxId(sandboxId), { ...page, limit: most, signal }),
      limit,
      commandOf,
      (one) => `${one.commandId} ${one.outcome ?? one.state} ${one.exitCode ?? '-'} ${one.command}`,
    ),
};

/** Reads a page that fits completely into the answer. */
async function readListPage<From, To extends Record<string, unknown>>(
  pageOf: (limit: number) => Promise<{ items: From[]; nextCursor: string | null }>,
  limit: number,
  of: (item: From) => To,
  lineOf: (item: To) => string,
): Promise<Listed> {
  const { items, nextCursor } = await fittingPage(pageOf, limit, { of, lineOf });
  return { lines: items.map(lineOf), items, nextCursor };
}

function commandOf({ id, state, outcome, exitCode, spec }: Command) {
  const command = toVisibleText(maskText(spec.command ?? (spec.argv ?? []).join(' '))).slice(0, 200);
  return { commandId: id, state, outcome, exitCode, command };
}

function requireSandboxId(sandboxId: string | undefined): string {
  if (sandboxId !== undefined) return sandboxId;
  throw new ToolError('These are of one sandbox.', 'Call it again with `sandboxId`.');
}
