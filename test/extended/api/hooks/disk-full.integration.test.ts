import { pino } from 'pino';
import { expect, test } from 'vitest';
import { loadEvent } from '../../../../activities/function/stored-event.ts';
import { createApp } from '../../../../api/app.ts';
import type { Store } from '../../../../store/connect.ts';
import { Closers } from '../../../../worker/config/closers.ts';
import { GITHUB, githubHeaders, SECRET } from '../../../api/hooks/use-hooks.ts';
import { immediateSagas } from '../../../api/immediate-sagas.ts';
import { noGuests } from '../../../api/support.ts';
import { functionRecord, functionVersion } from '../../../store/run-records.ts';
import { openStore } from '../../../support/open-store.ts';
import { SmallDisk } from '../../../support/small-disk.ts';
import { startStoreServer } from '../../../support/store-server.ts';

const HOOK = 'hok-0123456789abcdef';
const MIB = 1_048_576;
/** Disk size for a store and some events, MiB. */
const DISK_MIB = 64;
/** Number of events beyond the size of the disk. */
const MOST_EVENTS = 400;

async function haveHook(store: Store): Promise<void> {
  const createdBy = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };
  await store.functions.create(functionRecord());
  await store.functionVersions.create(functionVersion({ input: { schema: null, maxBytes: MIB } }));
  const hook = { id: HOOK, project: 'default', function: 'fn', scheme: GITHUB, secrets: [SECRET], filter: null };
  await store.hooks.create({ ...hook, allowedOrigins: [], disabledAt: null, createdBy, createdAt: '2026-01-01' });
}

/** Returns a small event, stored in its run's document, or a large one, stored in chunks. */
function bodyOf(n: number): string {
  return JSON.stringify({ n, text: 'x'.repeat(n % 2 === 0 ? 20_000 : 200_000) });
}

// Promise: a store without room refuses events with Retry-After, stores nothing partially, and recovers. Costs 20 s;
// needs root.
test('61: the disk of the store is full: 503 and Retry-After, nothing half accepted, and it recovers', async ({
  skip,
}) => {
  if (process.getuid?.() !== 0 || process.env['MONGODB_URI']) return skip('it fills a disk of its own store');
  const closers = new Closers();
  try {
    const disk = await SmallDisk.make(DISK_MIB);
    closers.add('disk', () => disk.remove());
    const server = await startStoreServer(disk.folder);
    closers.add('store server', () => server.stop());
    const store = await openStore(server.uri);
    closers.add('store', () => store.close());
    await haveHook(store);
    const sagas = immediateSagas(store);
    const app = createApp({ store, sagas, guests: noGuests, version: '0', logger: pino({ level: 'silent' }) });
    const post = async (n: number) => {
      const headers = githubHeaders(bodyOf(n), { id: `delivery-${n}` }) as [string, string][];
      const answer = await app.request(`/h/${HOOK}`, { method: 'POST', body: bodyOf(n), headers });
      const { runId } = (await answer.json()) as { runId?: string };
      return { n, status: answer.status, retryAfter: answer.headers.get('Retry-After'), runId };
    };
    const answers = [await post(0)];
    await disk.leave(MIB);
    while (answers.length < MOST_EVENTS && answers.filter(({ status }) => status !== 202).length < 20) {
      answers.push(...(await Promise.all([0, 1, 2, 3].map((n) => post(answers.length + n)))));
    }
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, retryAfter } of refused) {
      expect([status, retryAfter]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    }
    await disk.clear();
    for (const { n } of refused) {
      const again = await post(n);
      expect([200, 202]).toContain(again.status);
      answers.push(again);
    }
    const ids = new Set(answers.flatMap(({ runId }) => runId ?? []));
    const { items } = await store.runs.list({ project: 'default', limit: MOST_EVENTS + 50 });
    expect(new Set(items.map(({ id }) => id))).toEqual(ids);
    expect(ids.size).toBe(new Set(answers.map(({ n }) => n)).size);
    for (const run of items) expect((await loadEvent(store, run)).length).toBe(run.eventBytes);
  } finally {
    await closers.close();
  }
});
