import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import {
  RECORD_EVENT,
  RECORD_EVENTS_WORKFLOW,
  type RecordEventsInput,
  recordEventsWorkflowId,
} from '../../../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../../../model/sagas/queues.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

function access(path: string): AuditEvent {
  return {
    eventId: randomUUID(),
    kind: 'file.read',
    actor: { apiKeyId: 'test', agentId: null, project: 'default' },
    runId: null,
    hostId: 'test',
    at: new Date().toISOString(),
    detail: { path },
  };
}

/** Records events as the API does, in runs that end or continue as new early. */
function recorderOf(mayfly: MayflyCase, input: RecordEventsInput) {
  const workflowId = recordEventsWorkflowId(input.sandboxId);
  return {
    signal: (event: AuditEvent) =>
      mayfly.client.workflow.signalWithStart(RECORD_EVENTS_WORKFLOW, {
        workflowId,
        taskQueue: CONTROL_QUEUE,
        args: [input],
        signal: RECORD_EVENT,
        signalArgs: [mayfly.signed(input.sandboxId, event)],
      }),
    runs: async () => {
      const found = [];
      for await (const run of mayfly.client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) found.push(run);
      return found;
    },
  };
}

/** Returns the file reads in an audit trail, in order. */
async function recorded(mayfly: MayflyCase, sandboxId: string, atLeast: number): Promise<AuditEvent[]> {
  return eventually(
    async () => {
      const entries = await mayfly.store.audit.entries(sandboxId, { limit: 10_000 });
      const events = entries.map(({ body }) => JSON.parse(body) as AuditEvent);
      return events.filter(({ kind }) => kind === 'file.read');
    },
    (events): events is AuditEvent[] => events.length >= atLeast,
  );
}

test('accesses to a sandbox are recorded in order, by one run', async ({ mayfly }) => {
  const { id } = await mayfly.create();
  const events = Array.from({ length: 20 }, (_none, n) => access(`/${n}`));
  for (const event of events) await mayfly.sagas.sandboxes.recordEvent(id, event);
  const found = await recorded(mayfly, id, events.length);
  expect(found.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId));
  expect(new Set(found.map(({ runId }) => runId)).size).toBe(1);
  const { runs } = recorderOf(mayfly, { sandboxId: id });
  await eventually(runs, (list): list is typeof list => list.length === 1);
});

test.for([
  ['ends', { openMs: 1 }],
  ['continues as new', { longestHistory: 10 }],
] as const)('no event is lost or duplicated while the run %s', async ([, limits], { mayfly }) => {
  const { id } = await mayfly.create();
  const { signal } = recorderOf(mayfly, { sandboxId: id, ...limits });
  const events: AuditEvent[] = [];
  let found: AuditEvent[] = [];
  const runs = () => new Set(found.map(({ runId }) => runId)).size;
  // Temporal's timers are inexact, so a run may take several rounds.
  for (let round = 0; round < 8 || runs() < 2; round++) {
    const some = [0, 1, 2].map((n) => access(`/${round}/${n}`));
    events.push(...some);
    await Promise.all(some.map((event) => signal(event)));
    found = await recorded(mayfly, id, events.length); // the run is about to do so when the next arrive
  }
  const ids = (list: AuditEvent[]) => list.map(({ eventId }) => eventId).sort();
  expect(ids(found)).toEqual(ids(events));
});

test('events that waited for the store do not overflow the next run', async ({ mayfly }) => {
  const { id } = await mayfly.create();
  mayfly.arm('rememberEvent.before=1*error(sandbox_ended)', id);
  const { signal } = recorderOf(mayfly, { sandboxId: id, longestHistory: 10 });
  const events = Array.from({ length: 200 }, (_none, n) => access(`/${n}/${'x'.repeat(16_000)}`));
  for (const event of events) await signal(event);
  const found = await recorded(mayfly, id, events.length);
  expect(found.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId));
});

test('an event that the store refuses is retried; a cancel does not lose it, and later events wait', async ({
  mayfly,
}) => {
  const { id } = await mayfly.create();
  mayfly.arm('rememberEvent.before=1*error(sandbox_ended)', id);
  const events = [access('/first'), access('/second')];
  for (const event of events) await mayfly.sagas.sandboxes.recordEvent(id, event);
  await mayfly.client.workflow.getHandle(recordEventsWorkflowId(id)).cancel();
  const found = await recorded(mayfly, id, 2);
  expect(found.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId));
});
