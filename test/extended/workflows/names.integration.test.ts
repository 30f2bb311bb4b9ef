import pino from 'pino';
import { expect } from 'vitest';
import type { SandboxInput } from '../../../model/sagas/messages.ts';
import { readStarted, startSandbox } from '../../../services/sandboxes/start-sandbox.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { HANGS_AFTER_MS } from '../../support/test-timeouts.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

const taken = { code: 'name_taken' };
const named = (mayfly: MayflyCase, name: string): SandboxInput => ({ ...mayfly.input(), name });
const settled = (mayfly: MayflyCase, { id }: SandboxInput) =>
  mayfly.sagas.sandboxes.settled(id, AbortSignal.timeout(HANGS_AFTER_MS));

/** Creates a sandbox as a POST that waits for `seconds`. */
async function ask({ store, sagas }: MayflyCase, input: SandboxInput, seconds: number): Promise<string> {
  const deps = { store, sagas, logger: pino({ level: 'silent' }) };
  const begun = await startSandbox(deps, input, { seconds });
  return (begun ?? (await readStarted(deps, input.id, null))).id;
}

test('of many concurrent creates with one name one succeeds, and the others leave nothing', async ({ mayfly }) => {
  const inputs = Array.from({ length: 6 }, () => named(mayfly, 'race'));
  const asked = await Promise.allSettled(inputs.map((input, n) => ask(mayfly, input, n % 2)));
  const winners = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(winners).toHaveLength(1);
  const holder = await mayfly.store.sandboxes.named('race', 'default');
  expect(winners).toEqual([holder?.id]);
  for (const [n, input] of inputs.entries()) {
    if (input.id === holder?.id) continue;
    expect(asked[n]).toMatchObject({ reason: taken });
    // Also after its workflow has ended.
    await expect(mayfly.sagas.sandboxes.recorded(input.id)).rejects.toMatchObject(taken);
    await expect(mayfly.client.workflow.getHandle(`sandbox/${input.id}`).result()).rejects.toThrow();
    await expect(mayfly.sagas.sandboxes.recorded(input.id)).rejects.toMatchObject(taken);
    expect(await mayfly.store.sandboxes.get(input.id)).toBeNull();
    expect(await mayfly.store.audit.head(input.id)).toBeNull();
  }
});

test('a caller that waits for a refused create gets the refusal at once', async ({ mayfly }) => {
  const [first, second] = [named(mayfly, 'waits'), named(mayfly, 'waits')];
  await mayfly.create(first);
  await mayfly.sagas.sandboxes.create(second);
  await expect(settled(mayfly, second).then(() => readStarted(mayfly, second.id, null))).rejects.toMatchObject(taken);
});

test('a name is in record and audit, and is released when its sandbox is proved destroyed', async ({ mayfly }) => {
  const [first, second] = [named(mayfly, 'web'), named(mayfly, 'web')];
  expect(await mayfly.create(first)).toMatchObject({ name: 'web', state: 'running' });
  const [entry] = await mayfly.store.audit.entries(first.id, { limit: 1 });
  expect(JSON.parse(entry?.body ?? '')).toMatchObject({ kind: 'sandbox.requested', detail: { name: 'web' } });
  mayfly.arm('lookAgain.before=hang', first.id);
  await mayfly.sagas.sandboxes.destroy({ ...first, begin: 'destroy' }, { actor: first.createdBy });
  await mayfly.until(first.id, ({ state }) => state === 'destroying');
  await expect(ask(mayfly, second, 0)).rejects.toMatchObject(taken);
  mayfly.disarm();
  expect(await mayfly.end(first.id)).toMatchObject({ name: 'web', state: 'destroyed' });
  const third = named(mayfly, 'web');
  expect(await mayfly.create(third)).toMatchObject({ name: 'web', state: 'running' });
  expect((await mayfly.store.sandboxes.named('web', 'default'))?.id).toBe(third.id);
  await mayfly.destroy(third);
});

test('the name of a failed create is released when its cleanup is proved', async ({ mayfly }) => {
  const first = named(mayfly, 'unlucky');
  mayfly.arm('bootDomain.before=error', first.id);
  expect(await mayfly.create(first)).toMatchObject({ name: 'unlucky', state: 'failed' });
  expect(await mayfly.store.sandboxes.named('unlucky', 'default')).toBeNull();
  expect(await mayfly.create(named(mayfly, 'unlucky'))).toMatchObject({ name: 'unlucky', state: 'running' });
});

test('a name outlives a lost workflow, and is released when its sandbox is destroyed', async ({ mayfly }) => {
  const first = named(mayfly, 'lost');
  await mayfly.create(first);
  await mayfly.client.workflow.getHandle(`sandbox/${first.id}`).terminate('as a lost dev-server file would');
  await expect(ask(mayfly, named(mayfly, 'lost'), 0)).rejects.toMatchObject(taken);
  expect(await mayfly.destroy(first)).toMatchObject({ name: 'lost', state: 'destroyed' });
  expect(await mayfly.create(named(mayfly, 'lost'))).toMatchObject({ state: 'running' });
});
