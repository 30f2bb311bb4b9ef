import { describe, expect, test } from 'vitest';
import { unprovenLayers } from '../../model/proof.ts';
import type { SandboxRecord } from '../../model/sandbox.ts';
import type { Timeouts } from '../../model/timeouts.ts';
import { useMayfly } from '../support/mayfly.ts';

const STEPS = ['reserve', 'cloneDisk', 'bootDomain', 'awaitIp', 'verifySsh'] as const;

/** A hang must be noticed by the step's own time-out, which therefore is short here, and only where it hangs. */
const HANGS: Record<(typeof STEPS)[number], Partial<Timeouts>> = {
  reserve: { reserveMs: 300 },
  cloneDisk: { cloneDiskMs: 300 },
  bootDomain: { bootDomainMs: 300 },
  awaitIp: { awaitIpMs: 300 },
  verifySsh: { verifySshMs: 300 },
};

const mayfly = useMayfly();

function expectProved(record: SandboxRecord): void {
  expect(record.proof).not.toBeNull();
  expect(unprovenLayers(record.proof?.observations ?? [])).toEqual([]);
}

test('a sandbox comes to run, is used, and its end is proved', async () => {
  const input = mayfly().input({ metadata: { job: '7' } });
  const running = await mayfly().create(input);
  expect(running).toMatchObject({ state: 'running', hostId: 'test', failure: null, spec: { metadata: { job: '7' } } });
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

  const destroyed = await mayfly().destroy(input);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', waitingFor: null });
  expectProved(destroyed);
  expect(await mayfly().store.audit.verify(input.id)).toMatchObject({ ok: true });
  await mayfly().keepHistory('turns-deleted', input.id);
});

describe.each(STEPS)('when %s', (step) => {
  test.each(['before', 'after'])(
    'fails %s its effect, nothing is left and the answer says which step and why',
    async (where) => {
      mayfly().failpoints.arm(`${step}.${where}=error`);
      const failed = await mayfly().end((await mayfly().create()).id);
      expect(failed).toMatchObject({
        state: 'failed',
        stopReason: 'create-failed',
        failure: { step, code: 'fault_injected' },
      });
      expectProved(failed);
    },
  );

  test('hangs, nothing is left and the answer says which step and why', async () => {
    mayfly().failpoints.arm(`${step}.before=hang`);
    const failed = await mayfly().end(
      (await mayfly().create(mayfly().input({}, { ...HANGS[step], hostDownMs: 600 }))).id,
    );
    expect(failed).toMatchObject({ state: 'failed', failure: { step } });
    expect(failed.failure?.code).toBe(
      { awaitIp: 'ip_timeout', verifySsh: 'ssh_timeout' }[step as string] ?? 'step_timeout',
    );
    expectProved(failed);
  });

  test('is under way, a delete cancels the create and cleans up', async () => {
    mayfly().failpoints.arm(`${step}.after=hang`);
    const input = mayfly().input();
    await mayfly().sagas.create(input);
    const phases = {
      reserve: 'placing',
      cloneDisk: 'cloning',
      bootDomain: 'booting',
      awaitIp: 'awaiting-ip',
      verifySsh: 'verifying-ssh',
    };
    await mayfly().until(input.id, (record) => record.phase === phases[step]);
    const destroyed = await mayfly().destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
    expectProved(destroyed);
    if (step === 'awaitIp') await mayfly().keepHistory('turns-deleted-while-creating', input.id);
  });

  test('fails once in a way that a retry cures, the sandbox runs', async () => {
    mayfly().failpoints.arm(`${step}.after=1*error(host_unavailable)`);
    expect(await mayfly().create()).toMatchObject({ state: 'running' });
  });
});

describe.each([
  'removeCredentials',
  'removeDomain',
  'releaseLease',
  'removeWorkspace',
  'releaseReservation',
  'lookAgain',
])('when the cleanup step %s', (step) => {
  test.each(['before', 'after'])('fails %s its effect a few times, it is repeated until it holds', async (where) => {
    const input = mayfly().input();
    await mayfly().create(input);
    mayfly().failpoints.arm(`${step}.${where}=3*error`);
    const destroyed = await mayfly().destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', waitingFor: null });
    expectProved(destroyed);
  });

  test('does not hold, the sandbox is not called destroyed and says what it waits for', async () => {
    const input = mayfly().input();
    await mayfly().create(input);
    mayfly().failpoints.arm(`${step}.before=error`);
    await mayfly().sagas.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
    const waiting = await mayfly().until(input.id, (record) => record.waitingFor !== null);
    expect(waiting).toMatchObject({ state: 'destroying', proof: null });
    expect(waiting.waitingFor).toContain(step);
    mayfly().failpoints.arm(undefined);
    expect(await mayfly().end(input.id)).toMatchObject({ state: 'destroyed', waitingFor: null });
    if (step === 'removeDomain') await mayfly().keepHistory('cleanup-that-waits', input.id);
  });
});

test('an undo that fails is repeated too, and the first failure is the one that is told', async () => {
  mayfly().failpoints.arm('verifySsh.before=error;removeDomain.before=2*error;removeWorkspace.after=2*error');
  const failed = await mayfly().end((await mayfly().create()).id);
  expect(failed).toMatchObject({ state: 'failed', failure: { step: 'verifySsh', code: 'fault_injected' } });
  expectProved(failed);
  await mayfly().keepHistory('turns-create-failed', failed.id);
});

test('a host without room refuses, and the answer says so', async () => {
  const failed = await mayfly().end((await mayfly().create(mayfly().input({ memoryMib: 200_000 }))).id);
  expect(failed).toMatchObject({
    state: 'failed',
    hostId: null,
    failure: { code: 'capacity_exhausted', step: 'reserve' },
  });
  await mayfly().keepHistory('turns-no-room', failed.id);
});

test('a source that no host has is told as such', async () => {
  const failed = await mayfly().end((await mayfly().create(mayfly().input({ source: 'nobody' }))).id);
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'source_not_found', step: 'proposeHosts' } });
});

test('a host that was proposed with the request is in the first record, and placement is not asked', async () => {
  const input = { ...mayfly().input(), hostIds: ['test'] };
  const running = await mayfly().create(input);
  expect(running).toMatchObject({ state: 'running', hostId: 'test' });
  expect(running.steps.map(({ step }) => step)).toEqual([
    'reserve',
    'cloneDisk',
    'signCertificate',
    'bootDomain',
    'awaitIp',
    'verifySsh',
  ]);
  const [requested] = await mayfly().store.audit.entries(input.id, { limit: 1 });
  expect(JSON.parse(requested?.body ?? '')).toMatchObject({ kind: 'sandbox.requested', hostId: 'test' });
  expectProved(await mayfly().destroy(input));
  await mayfly().keepHistory('turns-proposed', input.id);
});

test('a proposed host that does not answer is passed over for one that placement knows', async () => {
  const input = { ...mayfly().input({}, { hostDownMs: 300 }), hostIds: ['gone'] };
  const running = await mayfly().create(input);
  expect(running).toMatchObject({ state: 'running', hostId: 'test', failure: null });
  expect(running.steps[0]?.step).toBe('proposeHosts');
  expectProved(await mayfly().destroy(input));
  await mayfly().keepHistory('turns-passed-over', input.id);
});

test('a proposed host without room is asked once, and nothing of it is left', async () => {
  const input = { ...mayfly().input({ memoryMib: 200_000 }), hostIds: ['test'] };
  const failed = await mayfly().end((await mayfly().create(input)).id);
  expect(failed).toMatchObject({
    state: 'failed',
    hostId: null,
    failure: { code: 'capacity_exhausted', step: 'reserve' },
  });
});

test('a slow step is shown with those before it, and where the sandbox will be reached', async () => {
  mayfly().failpoints.arm('verifySsh.after=hang');
  const input = mayfly().input();
  await mayfly().sagas.create(input);
  const shown = await mayfly().until(input.id, ({ phase }) => phase === 'verifying-ssh');
  expect(shown).toMatchObject({ state: 'creating', macAddress: expect.any(String), ssh: { user: 'sandbox' } });
  expect(shown.steps.map(({ step }) => step).slice(-2)).toEqual(['bootDomain', 'awaitIp']);
  const { raw } = await mayfly().client.workflow.getHandle(`sandbox/${input.id}`).describe();
  expect(raw.pendingActivities?.map(({ activityType }) => activityType?.name)).toEqual(['start']);
  expectProved(await mayfly().destroy(input));
});
