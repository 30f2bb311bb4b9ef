import { expect } from 'vitest';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { eventually } from '../../support/eventually.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

test('the TTL ends a sandbox that is still being created', async ({ mayfly }) => {
  const input = mayfly.input({ ttlSeconds: 1 });
  mayfly.arm('awaitIp.before=hang', input.id);
  await mayfly.sagas.sandboxes.create(input);
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl', runningAt: null });
});

test('an idle sandbox ends, and one in use does not', async ({ mayfly }) => {
  const [input, unused] = [mayfly.input({ idleSeconds: 4 }), mayfly.input({ idleSeconds: 4 })];
  await mayfly.create(unused);
  await mayfly.create(input); // last: nothing uses it while another is created
  const ended = await eventually(
    async () => {
      await mayfly.store.activity.touch(input.id);
      return mayfly.record(unused.id);
    },
    ({ state }) => isFinal(state),
  );
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
});
