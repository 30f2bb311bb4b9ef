import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { isSandboxId } from '../../model/ids.ts';
import { AT_STEP, MACHINE_ENDED, OPERATE, OPERATED } from '../../model/sagas/messages.ts';
import { hostQueue, workflowIdOf } from '../../model/sagas/queues.ts';
import { RECONCILE_HOST_WORKFLOW, reconcileHostWorkflowIdOf } from '../../model/sagas/reconcile.ts';
import { CERTIFICATE_WORKFLOW } from '../../model/sandbox/certificate.ts';
import type { Store } from '../../store/connect.ts';
import { endOf, LOOKING, type Rules } from './rules.ts';
import { whyNotStarted } from './starts.ts';

const CERTIFICATES = 'certificate/';
const SIGNALS = new Set([AT_STEP, MACHINE_ENDED]);
const UPDATES = new Set([OPERATE, OPERATED]);

/** What a host asks of a sandbox: that it waits for room, and goes on. */
const forSpace = z.looseObject({ kind: z.enum(['stall', 'unstall']) });
const compared = z.looseObject({ hostId: z.string() });

export interface HostRulesDeps {
  store: Pick<Store, 'sandboxes'>;
  codec: PayloadCodec;
}

/** A host takes the work of its own queue, and says of its own sandboxes what only it sees. */
export function hostRules(hostId: string, { store, codec }: HostRulesDeps): Rules {
  const queue = hostQueue({ hostId });
  const starts = new Map([
    [CERTIFICATE_WORKFLOW, CERTIFICATES], // which is signed, see activities/access/askers.ts
    [RECONCILE_HOST_WORKFLOW, reconcileHostWorkflowIdOf(hostId)],
  ]);

  async function whyNotOf(workflowId: string | null | undefined): Promise<string | null> {
    const id = workflowId?.slice(workflowIdOf('').length) ?? '';
    const isSandbox = isSandboxId(id) && workflowId === workflowIdOf(id);
    return isSandbox && (await store.sandboxes.hostIdOf(id)) === hostId
      ? null
      : `${workflowId} is not of a sandbox on it`;
  }

  async function whyNotIn(input: Payloads, schema: z.ZodType<object>, why: string): Promise<string | null> {
    const [payload] = await codec.decode(input?.payloads ?? []);
    return payload && schema.safeParse(defaultPayloadConverter.fromPayload(payload)).success ? null : why;
  }

  const ownTask = () => null; // its token was opened: it was given to this host
  return {
    ...LOOKING,
    PollActivityTaskQueue: ({ taskQueue }) => {
      const name = taskQueue?.name ?? '';
      return name === queue || name.startsWith(`${queue}/`) ? null : `the queue ${name} is another's`;
    },
    RecordActivityTaskHeartbeat: ownTask,
    RespondActivityTaskCompleted: ownTask,
    RespondActivityTaskFailed: ownTask,
    RespondActivityTaskCanceled: ownTask,
    StartWorkflowExecution: async (request) => {
      const why = whyNotStarted(request, starts);
      if (why !== null || request.workflowType?.name === CERTIFICATE_WORKFLOW) return why;
      if (request.workflowId !== reconcileHostWorkflowIdOf(hostId)) return 'another host is not for it to compare';
      const own = compared.refine((input) => input.hostId === hostId);
      return whyNotIn(request.input, own, 'another host is not for it to compare');
    },
    GetWorkflowExecutionHistory: (request) =>
      endOf(request, (id) => (id.startsWith(CERTIFICATES) ? null : `the end of ${id} is not for it to hear`)),
    SignalWorkflowExecution: ({ signalName, workflowExecution }) =>
      SIGNALS.has(signalName ?? '')
        ? whyNotOf(workflowExecution?.workflowId)
        : `the signal ${signalName} is not for it to send`,
    UpdateWorkflowExecution: async ({ request, workflowExecution }) => {
      const { name, args } = request?.input ?? {};
      if (!UPDATES.has(name ?? '')) return `the update ${name} is not for it to ask for`;
      const why = await whyNotOf(workflowExecution?.workflowId);
      if (why !== null || name === OPERATED) return why;
      return whyNotIn(args, forSpace, 'it only has a sandbox wait for room, and go on');
    },
    PollWorkflowExecutionUpdate: ({ updateRef }) => whyNotOf(updateRef?.workflowExecution?.workflowId),
  };
}

type Payloads = { payloads?: Payload[] | null } | null | undefined;
