import { describe, expect } from 'vitest';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { expectProof } from '../support/expect-proof.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf } from '../support/sweep.ts';

const STEPS = SAGA_POINTS.create.steps;

const CLEANUP = SAGA_POINTS.destroy.steps;

const { test } = useSagaCases({ kind: 'in-memory' });

describe.concurrent('a create', () => {
  test('runs, is used, and ends with a proof', async ({ mayfly }) => {
    const input = mayfly.input({ metadata: { job: '7' } });
    const running = await mayfly.create(input);
    expect(running).toMatchObject({
      state: 'running',
      hostId: 'test',
      failure: null,
      spec: { metadata: { job: '7' } },
    });
    expect(running.ssh?.hostKey).toMatch(/^ssh-ed25519 /);
    expect(running.steps.map(({ step }) => step)).toEqual([
      'proposeHosts',
      'reserve',
      'cloneDisk',
      'signCertificate',
      'bootDomain',
      'awaitIp',
      'verifySsh',
    ]);

    const destroyed = await mayfly.destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', waitingFor: null });
    expectProof(destroyed);
    expect(await mayfly.store.audit.verify(input.id)).toMatchObject({ ok: true });
  });

  test('with a failing compensation retries that too, and reports the first failure', async ({ mayfly }) => {
    const input = mayfly.input();
    mayfly.arm('verifySsh.before=error;removeDomain.before=2*error;removeWorkspace.after=2*error', input.id);
    await mayfly.create(input);
    const failed = await mayfly.end(input.id);
    expect(failed).toMatchObject({ state: 'failed', failure: { step: 'verifySsh', code: 'fault_injected' } });
    expectProof(failed);
    const workflow = await mayfly.client.workflow.getHandle(sandboxWorkflowId(failed.id)).describe();
    expect(workflow).toMatchObject({ status: { name: 'FAILED' } });
  });

  test('is refused by a host without room, and reports that', async ({ mayfly }) => {
    const failed = await mayfly.end((await mayfly.create(mayfly.input({ memoryMib: 200_000 }))).id);
    expect(failed).toMatchObject({
      state: 'failed',
      hostId: null,
      failure: { code: 'capacity_exhausted', step: 'reserve' },
    });
    // expected: it is not listed as failed
    const workflow = mayfly.client.workflow.getHandle(sandboxWorkflowId(failed.id));
    expect(await workflow.describe()).toMatchObject({ status: { name: 'COMPLETED' } });
    expect(await workflow.result()).toMatchObject({ sandboxId: failed.id, refused: failed.failure });
  });

  test('of an unknown source reports that', async ({ mayfly }) => {
    const failed = await mayfly.end((await mayfly.create(mayfly.input({ source: 'nobody' }))).id);
    expect(failed).toMatchObject({ state: 'failed', failure: { code: 'source_not_found', step: 'proposeHosts' } });
  });
});

describe.concurrent('a step', () => {
  test.for(pairsOf(STEPS, ['before', 'after']))(
    '%s that fails %s its effect leaves no residue, and the answer has the step and the reason',
    async ([step, where], { mayfly }) => {
      const input = mayfly.input();
      mayfly.arm(`${step}.${where}=error`, input.id);
      await mayfly.create(input);
      const failed = await mayfly.end(input.id);
      expect(failed).toMatchObject({
        state: 'failed',
        stopReason: 'create-failed',
        failure: { step, code: 'fault_injected' },
      });
      expectProof(failed);
    },
  );
});

describe.concurrent('a step of the clean-up', () => {
  test.for(CLEANUP)(
    '%s that fails before and after its effect is retried until it succeeds',
    async (step, { mayfly }) => {
      const input = mayfly.input();
      await mayfly.create(input);
      mayfly.arm(`${step}.before=2*error;${step}.after=1*error`, input.id);
      const destroyed = await mayfly.destroy(input);
      expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
      expectProof(destroyed);
    },
  );
});
