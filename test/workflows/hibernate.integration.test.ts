import { describe, expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { hibernated, kindsOf, readReservedMib } from '../support/hibernated.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { pairsOf } from '../support/sweep.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

/** Memory of a sandbox of these tests, MiB. */
const MIB = 64;

const readReserved = (id: string) => readReservedMib(all().machine(), id);
const readMachine = async (id: string) => (await all().machine().hypervisor.whereabouts(id)).domain;

test('the memory of a hibernated sandbox is released, and reacquired by a resume', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  expect(await readReserved(id)).toBe(MIB);
  for (let twice = 0; twice < 2; twice++) expect(await operations.hibernate(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated' });
  expect([await readMachine(id), await readReserved(id)]).toEqual(['hibernated', 0]);
  for (let twice = 0; twice < 2; twice++) expect(await operations.resume(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
  expect([await readMachine(id), await readReserved(id)]).toEqual(['running', MIB]);
  expect((await kindsOf(operations, id)).filter((kind) => /hibernated|resumed/.test(kind))).toEqual([
    'sandbox.hibernated',
    'sandbox.resumed',
  ]);
});

test('an idle sandbox is hibernated if configured, and again after a failure', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create(mayfly.input({ idleSeconds: 1, onIdle: 'hibernate' }));
  mayfly.arm('hibernate.before=1*error', id);
  await mayfly.until(id, ({ state }) => state === 'hibernated');
  await eventually(() => operations.resume(id).catch(() => 'it is still busy'), null);
  const told = await eventually(
    async () => (await operations.told(id)).filter(({ kind }) => kind === 'sandbox.hibernated'),
    { length: 2 },
  );
  expect(told).toMatchObject([{ actor: null }, { actor: null }]);
});

const WHERE = ['before', 'after'] as const;

describe.concurrent('a failure', () => {
  test.for(['before', 'during', 'after'])(
    'of hibernate, %s its effect, leaves it running, or paused',
    async (where, { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`hibernate.${where}=2*error`, id);
      expect(await operations.hibernate(id)).toMatchObject({ step: 'hibernate', code: 'fault_injected' });
      expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
      expect([await readMachine(id), await readReserved(id)]).toEqual(['running', MIB]);
      await operations.pause(id);
      expect(await operations.hibernate(id)).toMatchObject({ step: 'hibernate' });
      expect([(await mayfly.record(id)).state, await readMachine(id)]).toEqual(['paused', 'paused']);
    },
  );

  test.for(WHERE)(
    'of yieldMemory, %s its effect, is retried until it succeeds',
    async (where, { mayfly, operations }) => {
      const { id } = await mayfly.create();
      mayfly.arm(`yieldMemory.${where}=1*error`, id);
      expect(await operations.hibernate(id)).toBeNull();
      expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
      expect([await readMachine(id), await readReserved(id)]).toEqual(['hibernated', 0]);
    },
  );

  test.for([...pairsOf(SAGA_POINTS.wake.steps, WHERE), ['wake', 'during'] as const])(
    'of %s, %s its effect, leaves it hibernated',
    async ([step, where], { mayfly, operations }) => {
      const id = await hibernated(mayfly, operations, false);
      mayfly.arm(`${step}.${where}=1*error`, id);
      expect(await operations.resume(id)).toMatchObject({ step, code: 'fault_injected' });
      expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
      expect([await readMachine(id), await readReserved(id)]).toEqual(['hibernated', 0]);
    },
  );
});

test('a failed login leaves it hibernated; a failing compensation is recorded and retried', async ({
  mayfly,
  operations,
}) => {
  const id = await hibernated(mayfly, operations, false);
  mayfly.arm('verifySsh.before=error;hibernate.before=2*error(hibernate_failed)', id);
  const operationId = await operations.beginPause(id, 'resume');
  await mayfly.until(id, ({ waitingFor }) => waitingFor?.startsWith('hibernate on host test') ?? false);
  expect(await operations.ended(id, operationId)).toMatchObject({ step: 'verifySsh' });
  expect(await mayfly.record(id)).toMatchObject({ state: 'hibernated', waitingFor: null });
  expect(await readReserved(id)).toBe(0);
});
