import mongoose from 'mongoose';
import { pino } from 'pino';
import { expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { PendingAudit } from '../../worker/upkeep/waiting-audit.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

const foreign = { body: '{}', hash: 'x', previousHash: 'y', recent: [] };

test.for([
  ['a foreign one', () => foreign],
  ['a copy of the last', (last: object) => last],
] as const)(
  'a foreign audit entry blocks no clean-up, and its events wait: %s',
  async ([, made], { mayfly, onTestFinished }) => {
    const db = await mongoose.createConnection(mayfly.config.mongodbUri ?? '').asPromise();
    onTestFinished(() => db.close());
    const entries = db.collection<{ _id: string; [field: string]: unknown }>('audit');
    const input = mayfly.input();
    await mayfly.create(input);
    const { count = 0 } = (await mayfly.store.audit.head(input.id)) ?? {};
    const inTheWay = `${input.id}/${count}`;
    const { _id: _, ...last } = (await entries.findOne({ _id: `${input.id}/${count - 1}` })) ?? { _id: '' };
    await entries.insertOne({ sandboxId: input.id, seq: count, ...made(last), _id: inTheWay });

    const destroyed = await mayfly.destroy(input);
    expect(destroyed).toMatchObject({ state: 'destroyed', stopReason: 'deleted', waitingFor: null });
    expect(unprovenLayers(destroyed.proof?.observations ?? [])).toEqual([]);
    expect((await mayfly.store.sandboxes.get(input.id))?.auditFault).toContain(inTheWay);
    const faultOf = async () => (await mayfly.store.audit.faults()).find(({ sandboxId }) => sandboxId === input.id);
    const fault = await faultOf();
    expect(fault).toMatchObject({ sandboxId: input.id, why: expect.stringContaining(inTheWay) });
    const waiting = fault?.waiting ?? 0;
    expect(waiting).toBeGreaterThan(1);
    const broken = await mayfly.store.audit.verify(input.id);
    expect(broken).toMatchObject({ ok: false, waiting, problems: [{ seq: count }] });

    const upkeep = new PendingAudit(mayfly.store, pino({ level: 'silent' }));
    await upkeep.look();
    expect((await faultOf())?.waiting).toBe(waiting);
    await entries.deleteOne({ _id: inTheWay });
    await upkeep.look();
    expect(await faultOf()).toBeUndefined();
    expect((await mayfly.store.sandboxes.get(input.id))?.auditFault).toBeNull();
    expect(await mayfly.store.audit.verify(input.id)).toEqual({ ok: true, entries: count + waiting, problems: [] });
    const kinds = (await mayfly.store.audit.entries(input.id, { after: count - 1, limit: 100 })).map(
      ({ body }) => (JSON.parse(body) as { kind: string }).kind,
    );
    expect(kinds[0]).toBe('sandbox.state');
    expect(kinds.at(-1)).toBe('sandbox.proof');
  },
);
