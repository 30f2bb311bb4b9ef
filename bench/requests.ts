import { randomBytes, randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { ID_BYTES, sandboxIdFrom } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import { ACCEPTED } from '../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../model/sagas/queues.ts';
import type { Store } from '../store/connect.ts';
import { createDataConverter, installationKeys, temporalClient } from '../worker/payloads/data-converter.ts';
import { type Bench, createRunning, destroy, SMALL_MIB, WAIT, withSandbox, withStore } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';

/** Number of ended sandboxes in the store, and the concurrency of storing them. */
const STORED = { quick: 100, full: 10_000 };
const AT_ONCE = 100;
/** Rounds for each round of a part that creates: requests are short, and the first ones are interpreted. */
const ROUNDS = 3;

/** Measures the API's requests against the layers below them: a read of the store, an update that writes nothing. */
export async function measureRequests(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  const stored = bench.isQuick ? STORED.quick : STORED.full;
  await withStore(bench, async (store) => {
    await storeEnded(bench, store, stored);
    const { client, source } = bench;
    await samples.rounds(bench, async (counted) => {
      const request = { source, memoryMib: SMALL_MIB };
      const { id } = await counted.time('POST, accepted', () => client.createSandbox(request, { waitSeconds: 0 }));
      await counted.time('GET, while it is created', () => client.getSandbox(id));
      await client.destroySandbox(id, WAIT);
      await counted.time('GET, at rest', () => client.getSandbox(id));
      await counted.time('list, 50 a page', () => client.listSandboxes());
      await counted.time('its query alone', () => store.sandboxes.list({ limit: LIMITS.page.default }));
    });
    await withSandbox(bench, ({ id }) => measureRunning(bench, store, id, samples));
  });
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'GET', ours: 'GET, of one that runs', beside: 'its read alone' },
      { what: 'list', ours: 'list, 50 a page', beside: 'its query alone' },
      { what: 'PATCH', ours: 'PATCH', beside: 'an update that writes nothing' },
    ],
    lines: [`with ${stored} ended sandboxes in the store`],
  };
}

/** Measures requests about an idle running sandbox. */
async function measureRunning(bench: Bench, store: Store, id: string, samples: Samples): Promise<void> {
  const { client, config, installation } = bench;
  const rounds = { runs: bench.runs * ROUNDS, warmUp: bench.warmUp * ROUNDS };
  const connection = await Connection.connect({ address: installation.describe().temporalAddress });
  try {
    const dataConverter = createDataConverter(await installationKeys(config));
    const { workflow } = temporalClient({ connection, namespace: config.temporalNamespace, dataConverter });
    const running = workflow.getHandle(sandboxWorkflowId(id));
    let ttlSeconds = LIMITS.ttlSeconds.default;
    await samples.rounds(rounds, async (counted) => {
      await counted.time('GET, of one that runs', () => client.getSandbox(id));
      await counted.time('its read alone', () => store.sandboxes.get(id));
    });
    await samples.rounds(rounds, async (counted) => {
      await counted.time('PATCH', () => client.extendSandbox(id, { ttlSeconds: ++ttlSeconds }));
      await counted.time('an update that writes nothing', () =>
        running.executeUpdate(ACCEPTED, { args: [], updateId: randomUUID() }),
      );
    });
  } finally {
    await connection.close();
  }
}

/** Stores copies of a sandbox that has ended. */
async function storeEnded(bench: Bench, store: Store, count: number): Promise<void> {
  const { id } = await createRunning(bench);
  await destroy(bench, id);
  const ended = await store.sandboxes.get(id);
  if (!ended) throw new Error(`${id} is not in the store`);
  for (let left = count; left > 0; left -= AT_ONCE) {
    const ids = Array.from({ length: Math.min(left, AT_ONCE) }, () => sandboxIdFrom(randomBytes(ID_BYTES)));
    await Promise.all(ids.map((copy) => store.sandboxes.create({ ...ended, id: copy })));
  }
}
