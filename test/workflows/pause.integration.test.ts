import { describe, expect } from 'vitest';
import { useSagaCases } from '../support/saga-cases.ts';

const { test, mayfly: all } = useSagaCases({ kind: 'in-memory' });

const readMachine = async (id: string) => (await all().machine().hypervisor.whereabouts(id)).domain;

test('a sandbox is paused, snapshotted, and resumed', async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  for (let twice = 0; twice < 2; twice++) expect(await operations.pause(id)).toBeNull();
  expect([(await mayfly.record(id)).state, await readMachine(id)]).toEqual(['paused', 'paused']);
  expect(await operations.snapshot(id)).toMatchObject({ state: 'ready' });
  expect([(await mayfly.record(id)).state, await readMachine(id)]).toEqual(['paused', 'paused']);
  for (let twice = 0; twice < 2; twice++) expect(await operations.resume(id)).toBeNull();
  expect([(await mayfly.record(id)).state, await readMachine(id)]).toEqual(['running', 'running']);
});

const FAULTS = ['before', 'during', 'after'] as const;

describe.concurrent('a failure', () => {
  test.for(FAULTS)('%s the effect of a pause leaves it running', async (where, { mayfly, operations }) => {
    const { id } = await mayfly.create();
    mayfly.arm(`pause.${where}=error`, id);
    expect(await operations.pause(id)).toMatchObject({ step: 'pause', code: 'fault_injected' });
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', waitingFor: null });
    expect(await readMachine(id)).toBe('running');
  });

  test.for(FAULTS)('%s the effect of a resume leaves it paused', async (where, { mayfly, operations }) => {
    const { id } = await mayfly.create();
    await operations.pause(id);
    mayfly.arm(`resume.${where}=1*error`, id);
    expect(await operations.resume(id)).toMatchObject({ step: 'resume', code: 'fault_injected' });
    expect(await mayfly.record(id)).toMatchObject({ state: 'paused', waitingFor: null });
    expect(await readMachine(id)).toBe('paused');
  });

  test.for([
    ['pause', 'resume'],
    ['resume', 'pause'],
  ] as const)(
    'of a %s whose compensating %s fails too is retried until it succeeds',
    async ([kind, undo], { mayfly, operations }) => {
      const { id } = await mayfly.create();
      if (kind === 'resume') await operations.pause(id);
      mayfly.arm(`${kind}.after=1*error;${undo}.before=1*error;${undo}.after=1*error`, id);
      expect(await operations[kind](id)).toMatchObject({ step: kind, code: 'fault_injected' });
      const state = kind === 'pause' ? 'running' : 'paused';
      expect(await mayfly.record(id)).toMatchObject({ state, waitingFor: null });
      expect(await readMachine(id)).toBe(state);
    },
  );
});
