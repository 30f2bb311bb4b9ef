import mongoose from 'mongoose';
import { pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { WaitingAudit } from '../../worker/upkeep/waiting-audit.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

test('an audit entry that is in the way stops no cleanup: its events wait, and the record says so', async ({
  mayfly,
}) => {
  const db = await mongoose.createConnection(mayfly.config.mongodbUri ?? '').asPromise();
  onTestFinished(() => db.close());
  const entries = db.collection<{ _id: string; [field: string]: unknown }>('audit');
  const input = mayfly.input();
  await mayfly.create(input);
  const { count = 0 } = (await mayfly.store.audit.head(input.id)) ?? {};
  const foreign = `${input.id}/${count}`;
  await entries.insertOne({
    _id: foreign,
    sandboxId: input.id,
    seq: count,
    body: '{}',
    hash: 'x',
    previousHash: 'y',
    recent: [],
  });

  const destroyed = await mayfly.destroy(input);
  expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', waitingFor: null });
  expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
  expect((await mayfly.store.sandboxes.get(input.id))?.auditFault).toContain(foreign);
  const [fault] = await mayfly.store.audit.faults();
  expect(fault).toMatchObject({ sandboxId: input.id, why: expect.stringContaining(foreign) });
  const waiting = fault?.waiting ?? 0;
  expect(waiting).toBeGreaterThan(1);
  const broken = await mayfly.store.audit.verify(input.id);
  expect(broken).toMatchObject({ ok: false, waiting, problems: [{ seq: count, kind: 'inserted' }] });

  const upkeep = new WaitingAudit(mayfly.store, pino({ level: 'silent' }));
  await upkeep.look();
  expect((await mayfly.store.audit.faults())[0]?.waiting).toBe(waiting);
  await entries.deleteOne({ _id: foreign });
  await upkeep.look();
  expect(await mayfly.store.audit.faults()).toEqual([]);
  expect((await mayfly.store.sandboxes.get(input.id))?.auditFault).toBeNull();
  expect(await mayfly.store.audit.verify(input.id)).toEqual({ ok: true, entries: count + waiting, problems: [] });
  const kinds = (await mayfly.store.audit.entries(input.id, { after: count - 1, limit: 100 })).map(
    ({ body }) => (JSON.parse(body) as { kind: string }).kind,
  );
  expect(kinds[0]).toBe('sandbox.state');
  expect(kinds.at(-1)).toBe('sandbox.proof');
});
