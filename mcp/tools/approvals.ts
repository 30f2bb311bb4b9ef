import { z } from 'zod';
import { ID_PATTERNS } from '../../model/ids.ts';
import { type Registration, tool, WAIT_SECONDS } from '../lib/tool.ts';

const getApproval = tool({
  name: 'get_approval',
  title: 'Get approval',
  description: 'Whether what waits for a person was approved. Only people decide.',
  input: z.object({ approvalId: z.string().regex(new RegExp(ID_PATTERNS.approval)), waitSeconds: WAIT_SECONDS }),
  output: z.object({ state: z.string(), expiresAt: z.string(), reason: z.string().nullable() }),
  effect: 'reads',
  async run(call, { approvalId, waitSeconds }) {
    const options = { waitSeconds: call.waitSeconds(waitSeconds), signal: call.signal };
    const { state, expiresAt, reason, rules } = await call.client.approvals.get(approvalId, options);
    const why = reason === null ? '' : `\nreason: ${reason}`;
    return { text: `${approvalId} is ${state} (${rules.join(', ')})${why}`, data: { state, expiresAt, reason } };
  },
});

export const approvalTools: Registration[] = [getApproval];
