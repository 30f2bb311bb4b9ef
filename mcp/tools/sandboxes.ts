import { z } from 'zod';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import { requestedBoot } from '../../model/sandbox/sandbox.ts';
import { isCreateFinished, isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Call } from '../lib/call.ts';
import { maskText, ToolError } from '../lib/error-text.ts';
import type { WorkingTask } from '../lib/task.ts';
import { IDEMPOTENCY_KEY, omitUndefined, type Registration, SANDBOX, tool, WAIT_SECONDS } from '../lib/tool.ts';

const { cpus, memoryMib, ttlSeconds, idleSeconds } = LIMITS;

/** Parameters of a sandbox, common to all its origins. */
export const MACHINE = {
  cpus: z.int().min(cpus.min).max(cpus.max).optional(),
  memoryMib: z.int().min(memoryMib.min).max(memoryMib.max).optional(),
  ttlSeconds: z.int().min(ttlSeconds.min).max(ttlSeconds.max).optional().describe('Destroyed after; default 3600'),
  idleSeconds: z.int().min(idleSeconds.min).max(idleSeconds.max).optional().describe('Destroyed when so long unused'),
  egress: z.enum(['none', 'internet']).optional().describe('Default none'),
  metadata: z.record(z.string(), z.string()).optional(),
};

/** Summary of a sandbox; its resource has everything. */
export const sandboxShape = {
  sandboxId: z.string(),
  name: z.string().nullable(),
  state: z.string(),
  source: z.string(),
  address: z.string().nullable(),
  expiresAt: z.string(),
  boot: z.string().nullable(),
  failure: z.string().nullable(),
};

const createSandbox = tool({
  name: 'create_sandbox',
  title: 'Create a sandbox',
  description: 'Make a virtual machine from a source (see list). It is destroyed at the end of its TTL, or before.',
  input: z.object({
    source: z.string().min(1).max(LIMITS.sourceName.maxLength),
    name: z.string().max(63).optional().describe('DNS label, unique among those that live'),
    ...MACHINE,
    boot: requestedBoot.optional(),
    waitSeconds: WAIT_SECONDS,
    idempotencyKey: IDEMPOTENCY_KEY,
  }),
  output: z.object({ ...sandboxShape, next: z.string() }),
  effect: 'adds',
  async run(call, { waitSeconds, idempotencyKey, egress, ...rest }) {
    const request = { ...omitUndefined(rest), ...(egress && { network: { egress } }) };
    const { client, signal } = call;
    const options = { idempotencyKey: crypto.randomUUID(), ...call.key(idempotencyKey, request), waitSeconds: 0 };
    signal.throwIfAborted();
    // A repeat of the request returns the id of the started create.
    call.undoneBy(async () => destroySandboxes(client, [await client.createSandbox(request, options)]));
    const begun = await client.createSandbox(request, options);
    call.undoneBy(() => destroySandboxes(client, [begun]));
    return sandboxAnswer(call, await awaitCreate(call, begun, call.untilTask(waitSeconds)));
  },
});

/** Returns the state of a create. @throws ToolError when the sandbox has ended */
export function sandboxAnswer(call: Call, sandbox: Sandbox) {
  if (isFinal(sandbox.state)) throw createFailedError(sandbox);
  return {
    text: textOf(call, sandbox),
    data: { ...summaryOf(sandbox), next: nextOf(call, sandbox) },
    ...(!isCreateFinished(sandbox.state) && { task: createTask(sandbox) }),
  };
}

/** Makes the task of a create, with the sandbox's id. */
export function createTask({ id, state, steps, createdAt, updatedAt }: Sandbox): WorkingTask {
  const statusMessage = `${id} is ${state}; steps done: ${steps.map(({ step }) => step).join(', ') || 'none yet'}`;
  return { status: 'working', taskId: id, statusMessage, createdAt, lastUpdatedAt: updatedAt };
}

const destroySandbox = tool({
  name: 'destroy_sandbox',
  title: 'Destroy a sandbox',
  description: 'End a sandbox and everything in it, and prove that nothing is left. Snapshots of it stay.',
  input: z.object({ sandboxId: SANDBOX, waitSeconds: WAIT_SECONDS }),
  output: z.object({
    sandboxId: z.string(),
    state: z.string(),
    proof: z
      .object({
        provedAt: z.string(),
        looks: z.array(z.object({ layer: z.string(), lookedAt: z.string(), absent: z.boolean() })),
      })
      .nullable(),
    next: z.string(),
  }),
  effect: 'destroys',
  isIdempotent: true,
  async run(call, { sandboxId: named, waitSeconds }) {
    const id = await call.client.sandboxIdOf(named, { signal: call.signal });
    const wait = { waitSeconds: call.waitSeconds(waitSeconds), signal: call.signal };
    const { state, proof: found } = await call.client.destroySandbox(id, wait);
    const proof = found && { provedAt: found.provedAt, looks: found.observations.map(toProofEntry) };
    const next = !isFinal(state)
      ? `It is being destroyed. Read mayfly://sandboxes/${id} until its state is destroyed.`
      : (found?.unproved ?? `Nothing of it is left: ${proof?.looks.length ?? 0} looks at its host found nothing.`);
    return { text: `${id} is ${state}. ${next}`, data: { sandboxId: id, state, proof, next } };
  },
});

function toProofEntry({ layer, lookedAt, absent }: Observation) {
  return { layer, lookedAt, absent };
}

export const sandboxTools: Registration[] = [createSandbox, destroySandbox];

/** Destroys sandboxes whose caller has cancelled. */
export async function destroySandboxes(client: MayflyClient, begun: readonly { id: string }[]): Promise<void> {
  await Promise.all(begun.map(({ id }) => client.destroySandbox(id, { waitSeconds: 0 })));
}

/** @returns the record at the end of its create, or of the wait */
async function awaitCreate(call: Call, begun: Sandbox, waitSeconds: number): Promise<Sandbox> {
  const told = new Set<string>();
  const tellSteps = ({ steps }: Sandbox) => {
    for (const { step } of steps.filter((one) => !told.has(one.step))) call.tell(`${step} is done`);
    for (const { step } of steps) told.add(step);
  };
  tellSteps(begun);
  if (isCreateFinished(begun.state) || waitSeconds === 0) return begun;
  const over = await call.within(waitSeconds, async (signal) => {
    for await (const { event, data } of call.client.sandboxEvents(begun.id, { signal })) {
      if (event !== 'sandbox') continue;
      const sandbox = JSON.parse(data) as Sandbox;
      tellSteps(sandbox);
      if (isCreateFinished(sandbox.state)) return sandbox;
    }
    return undefined;
  });
  if (over) return over;
  try {
    return await call.client.getSandbox(begun.id, { signal: call.signal });
  } catch (error) {
    call.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    throw new ToolError(`${begun.id} was begun, and how far it is cannot be said now: ${why}`, askAgain(begun.id));
  }
}

export function summaryOf(sandbox: Sandbox) {
  const { id, name, state, spec, ssh, expiresAt, boot, failure } = sandbox;
  return {
    sandboxId: id,
    name,
    state,
    source: spec.source,
    address: ssh?.address ?? null,
    expiresAt,
    boot: boot?.way ?? null,
    failure: failure ? maskText(`${failure.code}: ${failure.message}`) : null,
  };
}

function textOf(call: Call, sandbox: Sandbox): string {
  const { sandboxId, state, address, expiresAt, boot } = summaryOf(sandbox);
  const facts = [address && `address ${address}`, boot && `boot ${boot}`, `until ${expiresAt}`].filter(Boolean);
  return `${sandboxId} is ${state} (${facts.join(', ')}). ${nextOf(call, sandbox)}`;
}

function nextOf(call: Call, { id, state }: Sandbox): string {
  if (state === 'running')
    return `Run commands in it with ${call.tool('run_command')}, and end it with ${call.tool('destroy_sandbox')}.`;
  return `It is not ready yet. ${askAgain(id)}`;
}

function askAgain(id: string): string {
  return `Read mayfly://sandboxes/${id} until its state is running; do not create another one.`;
}

function createFailedError({ id, state, failure, stopReason }: Sandbox): ToolError {
  const why = failure ? `${failure.code} at ${failure.step}: ${failure.message}` : `it was ended: ${stopReason}`;
  return new ToolError(
    `${id} is ${state}: ${why}`,
    'Nothing of it is left. Mend what it says, and create another one.',
  );
}
