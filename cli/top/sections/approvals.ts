import type { Approval } from '../../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../../model/limits.ts';
import { requestText } from '../../approval/approval-text.ts';
import { cellText, type Row } from '../rows/row.ts';
import type { Section } from '../rows/section.ts';

/** What waits for somebody to decide. */
export const approvals: Section<Approval> = {
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
  row,
};

function row(approval: Approval): Row {
  const { id, askedAt, action, askedBy, rules, request } = approval;
  const by = cellText(askedBy.agentId ?? askedBy.apiKeyId);
  const cells = [id, { since: askedAt }, action, by, cellText(rules.join(' ')), cellText(requestText(request))];
  return { id, sandboxId: null, approval, cells };
}
