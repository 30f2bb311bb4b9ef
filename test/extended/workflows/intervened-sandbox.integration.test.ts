import { expect } from 'vitest';
import { sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { pairsOf, sweepOn } from '../../support/sweep.ts';

/**
 * Promise: a sandbox ends in order after any operator action on its workflow in Temporal, and the first DELETE works.
 */
const { test } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(test);

type Bring = (mayfly: MayflyCase, operations: TestOperations, id: string) => Promise<unknown>;

/** Activities of a create by their steps. */
const CREATE = { reserve: 'prepare', cloneDisk: 'prepare', bootDomain: 'start', awaitIp: 'start', verifySsh: 'start' };

/** States of a running sandbox, and operations that hang in a step. */
const STATES: Record<string, Bring> = {
  running: async () => undefined,
  paused: (_mayfly, operations, id) => operations.pause(id),
  hibernated: (_mayfly, operations, id) => operations.hibernate(id),
  snapshot: (mayfly, operations, id) =>
    hang(mayfly, operations, id, 'saveSnapshot', () => operations.beginSnapshot(id)),
  restore: async (mayfly, operations, id) => {
    const snapshot = await operations.snapshot(id);
    await hang(mayfly, operations, id, 'revertDisk', () => operations.beginRestore(id, snapshot.id, false));
  },
  pause: (mayfly, operations, id) => hang(mayfly, operations, id, 'pause', () => operations.beginPause(id, 'pause')),
  hibernate: (mayfly, operations, id) =>
    hang(mayfly, operations, id, 'hibernate', () => operations.beginPause(id, 'hibernate')),
  resume: async (mayfly, operations, id) => {
    await operations.pause(id);
    await hang(mayfly, operations, id, 'resume', () => operations.beginPause(id, 'resume'));
  },
  wake: async (mayfly, operations, id) => {
    await operations.hibernate(id);
    await hang(mayfly, operations, id, 'wake', () => operations.beginPause(id, 'resume'));
  },
  destroying: (mayfly, operations, id) =>
    hang(mayfly, operations, id, 'removeDomain', async () => {
      const input = { ...mayfly.input(), id, begin: 'destroy' } as const;
      await mayfly.sagas.sandboxes.destroy(input, { actor: input.createdBy });
    }),
};

async function hang(
  mayfly: MayflyCase,
  operations: TestOperations,
  id: string,
  step: string,
  begin: () => Promise<unknown>,
): Promise<void> {
  mayfly.arm(`${step}.before=1*hang`, id);
  await begin();
  await operations.beganStep(id, step);
}

/** Handles a terminated workflow as one round of the reconciler does. */
async function destroyTerminated(mayfly: MayflyCase, id: string): Promise<void> {
  expect(await new ControlTemporalClient(mayfly.client).sandboxes.destroyTerminated({ ...mayfly.input(), id })).toBe(
    true,
  );
}

/** Asserts that the host has no trace of the sandbox and that its proof is complete. */
async function expectGone(mayfly: MayflyCase, id: string): Promise<void> {
  const ended = await mayfly.end(id);
  expect(isFinal(ended.state)).toBe(true);
  expectProof(ended);
  expect(mayfly.memory?.domains.has(id)).toBe(false);
  expect(mayfly.host?.machine.ledger.sandboxIds()).not.toContain(id);
}

sweep(pairsOf(Object.keys(CREATE), INTERVENTIONS))(
  'a create at %s, then %s',
  async ([step, kind], { mayfly, operations }) => {
    const input = mayfly.input();
    mayfly.arm(`${step}.before=1*hang`, input.id);
    await mayfly.sagas.sandboxes.create(input);
    await operations.beganStep(input.id, CREATE[step as keyof typeof CREATE]);
    await intervene(mayfly.client, sandboxWorkflowId(input.id), kind);
    if (kind === 'terminate') await destroyTerminated(mayfly, input.id);
    if (!kind.startsWith('reset')) {
      expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
    }
    if (kind.startsWith('reset')) {
      await mayfly.until(input.id, ({ state }) => state === 'running');
    }
    await mayfly.destroy(input);
    await expectGone(mayfly, input.id);
  },
);

sweep(pairsOf(Object.keys(STATES), INTERVENTIONS))(
  'a sandbox: %s, then %s',
  async ([state, kind], { mayfly, operations }) => {
    const { id } = await mayfly.createRunning();
    await STATES[state]?.(mayfly, operations, id);
    const before = await mayfly.record(id);
    await intervene(mayfly.client, sandboxWorkflowId(id), kind);
    if (kind === 'terminate') await destroyTerminated(mayfly, id);
    if (!kind.startsWith('reset')) {
      expect(await mayfly.end(id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
    }
    if (kind.startsWith('reset') && ['running', 'paused', 'hibernated'].includes(state)) {
      await mayfly.until(id, ({ updatedAt }) => updatedAt > before.updatedAt);
      expect(await mayfly.record(id)).toMatchObject({ state, failure: null });
    }
    await mayfly.destroy(id);
    await expectGone(mayfly, id);
  },
);
