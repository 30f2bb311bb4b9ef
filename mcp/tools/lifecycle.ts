import { z } from 'zod';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import { ID_PATTERNS } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { omitUndefined, type Registration, SANDBOX, tool, WAIT_SECONDS } from '../lib/tool.ts';
import { sandboxShape, summaryOf } from './sandboxes.ts';

const { ttlSeconds, idleSeconds } = LIMITS;
const shape = { sandboxId: z.string(), state: z.string(), expiresAt: z.string() };

const getSandbox = tool({
  name: 'get_sandbox',
  title: 'Get a sandbox',
  description: 'How a sandbox is now.',
  input: z.object({ sandboxId: SANDBOX }),
  output: z.object(sandboxShape),
  effect: 'reads',
  async run({ client, signal }, { sandboxId }) {
    const data = summaryOf(await client.getSandbox(sandboxId, { signal }));
    const failure = data.failure === null ? '' : `: ${data.failure}`;
    return { text: `${data.sandboxId} is ${data.state}${failure}. It ends at ${data.expiresAt}.`, data };
  },
});

const extend = tool({
  name: 'extend',
  title: 'Extend a sandbox',
  description: 'Give a sandbox another TTL, from now on, or another idle time.',
  input: z.object({
    sandboxId: SANDBOX,
    ttlSeconds: z.int().min(ttlSeconds.min).max(ttlSeconds.max).optional(),
    idleSeconds: z.int().min(idleSeconds.min).max(idleSeconds.max).nullable().optional().describe('null: never'),
  }),
  output: z.object(shape),
  effect: 'adds',
  isIdempotent: true,
  async run({ client, signal }, { sandboxId, ...change }) {
    return answerOf(await client.extendSandbox(sandboxId, omitUndefined(change), { signal }));
  },
});

const pause = power('pause', {
  title: 'Pause a sandbox',
  description: 'Stop the processors of a sandbox; its memory and connections stay.',
});

const resume = power('resume', {
  title: 'Resume a sandbox',
  description: 'Let a sandbox go on that is paused or hibernated.',
});

function power(name: 'pause' | 'resume', texts: { title: string; description: string }) {
  return tool({
    name,
    ...texts,
    input: z.object({ sandboxId: SANDBOX, waitSeconds: WAIT_SECONDS }),
    output: z.object(shape),
    effect: 'adds',
    isIdempotent: true,
    async run(call, { sandboxId, waitSeconds }) {
      const options = { waitSeconds: call.waitSeconds(waitSeconds), signal: call.signal };
      return answerOf(await call.client[`${name}Sandbox`](sandboxId, options));
    },
  });
}

function answerOf({ id, state, expiresAt }: Sandbox) {
  return { text: `${id} is ${state}. It ends at ${expiresAt}.`, data: { sandboxId: id, state, expiresAt } };
}

export const lifecycleTools: Registration[] = [getSandbox, extend, pause, resume];

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
