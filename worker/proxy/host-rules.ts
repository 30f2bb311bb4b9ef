import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { AWAIT_OPERATION, MACHINE_ENDED, OPERATE, STEP_PROGRESS } from '../../model/sagas/messages.ts';
import { hostQueuePrefix, sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { RECONCILE_HOST_WORKFLOW, reconcileHostWorkflowIdOf } from '../../model/sagas/reconcile.ts';
import { CERTIFICATE_WORKFLOW } from '../../model/sandbox/certificate-saga.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Store } from '../../store/connect.ts';
import { checkOutcomeRead, READ_ONLY_RULES, type Rules } from './rules.ts';
import { findStartProblem } from './starts.ts';

const CERTIFICATES = 'certificate/';
/**
 * Signals that a host may send, with the schema of their argument: any other argument would fail the workflow task
 * forever.
 */
const SIGNALS = new Map<string, z.ZodType<object>>([
  [STEP_PROGRESS, z.looseObject({ phase: z.string(), steps: z.array(z.looseObject({})) })],
  [MACHINE_ENDED, z.looseObject({ hostId: z.string(), reason: z.string(), seenAt: z.iso.datetime() })],
]);
const UPDATES = new Set([OPERATE, AWAIT_OPERATION]);

/** Operations that a host may request of a sandbox: suspend it for space, and resume it. */
const forSpace = z.looseObject({ kind: z.enum(['suspend-for-space', 'resume-with-space']) });
const compared = z.looseObject({ hostId: z.string() });

interface HostRulesDeps {
  store: { sandboxes: Pick<Store['sandboxes'], 'hostIdOf'> };
  codec: PayloadCodec;
}

/** Returns the rules of a host: it polls its own queue, and reports on its own sandboxes. */
export function hostRules(hostId: string, { store, codec }: HostRulesDeps): Rules {
  const prefix = hostQueuePrefix(hostId);
  const starts = new Map([
    [CERTIFICATE_WORKFLOW, CERTIFICATES], // signed requests, see activities/access/askers.ts
    [RECONCILE_HOST_WORKFLOW, reconcileHostWorkflowIdOf(hostId)],
  ]);

  async function whyNotOf(workflowId: string | null | undefined): Promise<string | null> {
    const id = workflowId?.slice(sandboxWorkflowId('').length) ?? '';
    const isSandbox = isSandboxId(id) && workflowId === sandboxWorkflowId(id);
    return isSandbox && (await store.sandboxes.hostIdOf(id)) === hostId
      ? null
      : `${workflowId} is not of a sandbox on it`;
  }

  async function whyNotIn(input: Payloads, schema: z.ZodType<object>, why: string): Promise<string | null> {
    const [payload] = await codec.decode(input?.payloads ?? []).catch(() => []); // unencrypted: refused, too
    return payload && schema.safeParse(defaultPayloadConverter.fromPayload(payload)).success ? null : why;
  }

  const ownTask = () => null; // the token was verified: this host received it
  return {
    ...READ_ONLY_RULES,
    PollActivityTaskQueue: ({ taskQueue }) => {
      const name = taskQueue?.name ?? '';
      return name.startsWith(prefix) ? null : `the queue ${name} is another's`;
    },
    RecordWorkerHeartbeat: () => null, // of the SDK, once a minute
    RecordActivityTaskHeartbeat: ownTask,
    RespondActivityTaskCompleted: ownTask,
    RespondActivityTaskFailed: ownTask,
    RespondActivityTaskCanceled: ownTask,
    StartWorkflowExecution: async (request) => {
      const why = findStartProblem(request, starts);
      if (why !== null || request.workflowType?.name === CERTIFICATE_WORKFLOW) return why;
      if (request.workflowId !== reconcileHostWorkflowIdOf(hostId)) return 'another host is not for it to compare';
      const own = compared.refine((input) => input.hostId === hostId);
      return whyNotIn(request.input, own, 'another host is not for it to compare');
    },
    GetWorkflowExecutionHistory: (request) =>
      checkOutcomeRead(request, (id) =>
        id.startsWith(CERTIFICATES) ? null : `the end of ${id} is not for it to hear`,
      ),
    SignalWorkflowExecution: async ({ signalName, workflowExecution, input }) => {
      const schema = SIGNALS.get(signalName ?? '');
      if (!schema) return `the signal ${signalName} is not for it to send`;
      const why = await whyNotOf(workflowExecution?.workflowId);
      return why ?? whyNotIn(input, schema, `the signal ${signalName} is unencrypted or has another argument`);
    },
    UpdateWorkflowExecution: async ({ request, workflowExecution }) => {
      const { name, args } = request?.input ?? {};
      if (!UPDATES.has(name ?? '')) return `the update ${name} is not for it to ask for`;
      const why = await whyNotOf(workflowExecution?.workflowId);
      if (why !== null || name === AWAIT_OPERATION) return why;
      return whyNotIn(args, forSpace, 'it only has a sandbox wait for room, and go on');
    },
    PollWorkflowExecutionUpdate: ({ updateRef }) => whyNotOf(updateRef?.workflowExecution?.workflowId),
  };
}

type Payloads = { payloads?: Payload[] | null } | null | undefined;
