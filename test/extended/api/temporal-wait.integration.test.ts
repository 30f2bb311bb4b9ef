import { expect, test } from 'vitest';
import { ApiTemporalClient } from '../../../temporal/temporal-sagas.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();

test("a wait ends when its signal fires, for any duration of the server's poll", async () => {
  const { id } = await mayfly().create();
  const sagas = new ApiTemporalClient(mayfly().client, { roundMs: 600_000 });
  const waiting = new AbortController();
  const ended = expect(sagas.sandboxes.ended(id, waiting.signal)).rejects.toThrow('long enough');
  await mayfly().client.workflowService.getSystemInfo({}); // the server has the wait by then: both use one connection
  waiting.abort(new Error('long enough'));
  await ended;
});

test('a call that timed out may have started its workflow, and reports that', async () => {
  const input = mayfly().input();
  const sagas = new ApiTemporalClient(mayfly().client, { callMs: 1 });
  const late = { code: 'temporal_unavailable', options: { mayHaveBegun: true } };
  await expect(sagas.sandboxes.create(input)).rejects.toMatchObject(late);
  await mayfly().sagas.sandboxes.create(input);
  await mayfly().sagas.sandboxes.settled(input.id, AbortSignal.timeout(60_000));
  expect((await mayfly().record(input.id)).state).toBe('running');
});

test('a wait for an update and for an end continues over many polls', async () => {
  const input = mayfly().input();
  const sagas = new ApiTemporalClient(mayfly().client, { roundMs: 200 });
  mayfly().failpoints.arm('verifySsh.before=delay(1100);removeDomain.before=1*delay(1100)');
  await sagas.sandboxes.create(input);
  await sagas.sandboxes.settled(input.id, AbortSignal.timeout(60_000));
  expect((await mayfly().record(input.id)).state).toBe('running');
  await sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
  await sagas.sandboxes.ended(input.id, AbortSignal.timeout(60_000));
  expect((await mayfly().record(input.id)).state).toBe('destroyed');
});
