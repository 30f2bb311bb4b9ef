import { describe, expect } from 'vitest';
import type { Timeouts } from '../../../model/sandbox/timeouts.ts';
import { expectProof } from '../../support/expect-proof.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { SAGA_POINTS } from '../../support/saga-points.ts';
import { sweepOn } from '../../support/sweep.ts';

const STEPS = SAGA_POINTS.create.steps;

/** Short timeouts of single steps, so that a hang is noticed by the timeout of its own step. */
const HANGS: Record<(typeof STEPS)[number], Partial<Timeouts>> = {
  reserve: { reserveMs: 300 },
  cloneDisk: { cloneDiskMs: 300 },
  bootDomain: { bootDomainMs: 300 },
  awaitIp: { awaitIpMs: 300 },
  verifySsh: { verifySshMs: 300 },
};

const PHASES = {
  reserve: 'placing',
  cloneDisk: 'cloning',
  bootDomain: 'booting',
  awaitIp: 'awaiting-ip',
  verifySsh: 'verifying-ssh',
};

const CLEANUP = SAGA_POINTS.destroy.steps;

const { test, alone } = useSagaCases({ kind: 'in-memory' });
const sweep = sweepOn(alone);

describe.concurrent('a step', () => {
  sweep(STEPS)('%s that hangs leaves no residue, and the failure names it', async (step, { mayfly }) => {
    const input = mayfly.input({}, HANGS[step]);
    mayfly.arm(`${step}.before=hang`, input.id);
    await mayfly.create(input);
    const failed = await mayfly.end(input.id);
    expect(failed).toMatchObject({ state: 'failed', failure: { step } });
    expect(failed.failure?.code).toBe(
      { awaitIp: 'ip_timeout', verifySsh: 'ssh_timeout' }[step as string] ?? 'step_timeout',
    );
    expectProof(failed);
  });

  sweep(STEPS)('%s in progress is cancelled by a delete, which cleans up', async (step, { mayfly }) => {
    const input = mayfly.input();
    mayfly.arm(`${step}.after=hang`, input.id);
    await mayfly.sagas.sandboxes.create(input);
    await mayfly.until(input.id, (record) => record.phase === PHASES[step]);
    const destroyed = await mayfly.destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
    expectProof(destroyed);
  });

  sweep(STEPS)('%s that fails once with a retryable error is retried', async (step, { mayfly }) => {
    const input = mayfly.input();
    mayfly.arm(`${step}.after=1*error(host_unavailable)`, input.id);
    expect(await mayfly.create(input)).toMatchObject({ state: 'running' });
  });
});

describe.concurrent('a step of the cleanup', () => {
  sweep(CLEANUP)(
    '%s that fails is retried, and the sandbox does not become destroyed before it succeeds',
    async (step, { mayfly }) => {
      const input = mayfly.input();
      await mayfly.create(input);
      mayfly.arm(`${step}.before=error`, input.id);
      await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
      const waiting = await mayfly.until(input.id, (record) => record.waitingFor !== null);
      expect(waiting).toMatchObject({ state: 'destroying', proof: null });
      expect(waiting.waitingFor).toContain(step);
      mayfly.arm(undefined, input.id);
      expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', waitingFor: null });
    },
  );
});

describe.concurrent('a host that was proposed with the request', () => {
  test('is in the first record, without placement', async ({ mayfly }) => {
    const input = { ...mayfly.input(), ...mayfly.proposals() };
    const running = await mayfly.create(input);
    expect(running).toMatchObject({ state: 'running', hostId: 'test' });
    expect(running.steps.map(({ step }) => step)).toEqual([
      'reserve',
      'cloneDisk',
      'signCertificate',
      'bootDomain',
      'awaitIp',
      'verifySsh',
    ]);
    const [requested] = await mayfly.store.audit.entries(input.id, { limit: 1 });
    expect(JSON.parse(requested?.body ?? '')).toMatchObject({ kind: 'sandbox.requested', hostId: 'test' });
    expectProof(await mayfly.destroy(input));
  });

  test('without capacity is tried once, and keeps no residue', async ({ mayfly }) => {
    const input = { ...mayfly.input({ memoryMib: 200_000 }), ...mayfly.proposals() };
    const failed = await mayfly.end((await mayfly.create(input)).id);
    expect(failed).toMatchObject({
      state: 'failed',
      hostId: null,
      failure: { code: 'capacity_exhausted', step: 'reserve' },
    });
  });
});

test('a slow step is listed with the steps before it, and with the address of the sandbox', async ({ mayfly }) => {
  const input = mayfly.input();
  mayfly.arm('verifySsh.after=hang', input.id);
  await mayfly.sagas.sandboxes.create(input);
  const shown = await mayfly.until(input.id, ({ phase }) => phase === 'verifying-ssh');
  expect(shown).toMatchObject({ state: 'creating', macAddress: expect.any(String), ssh: { user: 'sandbox' } });
  expect(shown.steps.map(({ step }) => step).slice(-2)).toEqual(['bootDomain', 'awaitIp']);
  const { raw } = await mayfly.client.workflow.getHandle(`sandbox/${input.id}`).describe();
  expect(raw.pendingActivities?.map(({ activityType }) => activityType?.name)).toEqual(['start']);
  expectProof(await mayfly.destroy(input));
});
