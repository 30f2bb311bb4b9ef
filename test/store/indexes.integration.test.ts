import mongoose from 'mongoose';
import { afterAll, expect, it } from 'vitest';
import type { Store } from '../../store/connect.ts';
import { useStore } from '../support/use-store.ts';
import { callsOf } from './every-call.ts';
import { sandboxId } from './support.ts';

interface Query {
  collection: string;
  filter: Record<string, unknown>;
  sort: Record<string, unknown>;
}

/** Methods that scan whole collections: small ones, or scans by nature. */
const WHOLE = new Set([
  'apiKeys.list',
  'projects.known',
  'projects.get',
  'pools.all',
  'schedules.all', // names only, once a minute
  'pools.known',
  'apiKeys.limited',
  'apiKeys.revokeUnlessLast',
  'hosts.list',
  'measuredDisks.list',
  'periodicTasks.list', // one document per task
  'audit.acceptLoss',
  'audit.verifyRegister', // the register is one chain
  'audit.verifyAll',
  'audit.exported',
  'audit.noteKeys', // its caller lists them
  'audit.catchUp', // live sandboxes
  'audit.faults', // the queue: normally empty
  'audit.appendWaiting',
  'retention.removed', // one document per collection
  'receiptKeys.list', // one document per rotation
]);

const FILTERED = new Set(['find', 'findOne', 'findOneAndUpdate', 'updateOne', 'replaceOne', 'deleteOne', 'deleteMany']);

let store: Store;
let db: mongoose.Connection;
const queries = new Map<string, Query[]>();
let caller = '';

useStore(
  (opened) => {
    ({ store, db } = opened);
    mongoose.set('debug', (collection, method, filter, ...rest: unknown[]) => {
      const options = rest.at(-1) as { sort?: Record<string, unknown> } | undefined;
      const query = { collection, filter: filter as Query['filter'], sort: options?.sort ?? {} };
      if (FILTERED.has(method)) queries.set(caller, [...(queries.get(caller) ?? []), query]);
    });
  },
  { auditKey: Buffer.alloc(32, 7) },
);
afterAll(() => void mongoose.set('debug', false));

/** Reports whether the server would scan a whole collection, by `explain`, which both kinds of server support. */
async function readsAll({ collection, filter, sort }: Query): Promise<boolean> {
  const answer = await db.db?.command({ explain: { find: collection, filter, sort } });
  const plan = JSON.stringify(answer?.['queryPlanner'] ?? {});
  if (!/SCAN|SEARCH|stage/.test(plan)) throw new Error(`no plan for ${collection} ${JSON.stringify(filter)}: ${plan}`);
  if (plan.includes('"stage"')) return plan.includes('COLLSCAN');
  // A page skips the few snapshots whose reason hides them from lists.
  const isPage = Object.keys(filter).every((field) => field === 'reason') && plan.includes('USING INDEX');
  return plan.includes('SCAN') && !isPage;
}

it('every query of every method has an index, except scans by nature', async () => {
  for (const [part, methods] of Object.entries(callsOf(store))) {
    for (const [method, call] of Object.entries<() => Promise<unknown>>(methods)) {
      caller = `${part}.${method}`;
      await call();
    }
  }
  caller = 'the test itself';
  const withoutIndex: string[] = [];
  for (const [method, asked] of queries) {
    for (const query of asked) {
      if (!WHOLE.has(method) && (await readsAll(query))) withoutIndex.push(`${method} ${JSON.stringify(query)}`);
    }
  }
  expect(withoutIndex).toEqual([]);
  expect(queries.size).toBeGreaterThan(45);
});

it('a query without an index is distinguished from an indexed one', async () => {
  expect(await readsAll({ collection: 'sandboxes', filter: { hostId: 'kvm-1' }, sort: {} })).toBe(true);
  expect(await readsAll({ collection: 'sandboxes', filter: { _id: sandboxId(1) }, sort: {} })).toBe(false);
  expect(await readsAll({ collection: 'sandboxes', filter: {}, sort: { createdAt: -1, _id: -1 } })).toBe(false);
});
