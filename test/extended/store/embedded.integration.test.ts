import { expect, it } from 'vitest';
import { repeat, useEmbeddedStore } from '../../store/embedded-stores.ts';
import { sandboxId } from '../../store/support.ts';
import { eventually } from '../../support/eventually.ts';
import { openStore } from '../../support/open-store.ts';

const { start, end } = useEmbeddedStore();

it('has valid chains with all acknowledged entries after a kill during many appends', async () => {
  const auditKey = Buffer.alloc(32, 7);
  const uri = await start();
  const store = await openStore(uri, { auditKey });
  const acknowledged = new Map<string, number>();
  const writers = repeat(30, async (writer) => {
    const id = sandboxId(writer % 10);
    for (let n = 0; ; n += 1) {
      const event = { eventId: `${writer}/${n}`, actor: null, runId: null, hostId: null, detail: {} };
      const at = new Date().toISOString();
      try {
        await store.audit.append(id, { ...event, kind: 'sandbox.step', at });
      } catch {
        return; // the connection died with the server: this entry was not acknowledged
      }
      acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
    }
  });
  const sum = () => [...acknowledged.values()].reduce((all, one) => all + one, 0);
  await eventually(
    async () => sum(),
    (count) => count > 100,
  );
  await end('SIGKILL');
  await writers;
  await store.close();

  const after = await openStore(await start(), { auditKey });
  for (const [id, count] of acknowledged) {
    const { ok, problems } = await after.audit.verify(id);
    expect({ ok, problems: problems.filter(({ kind }) => kind !== 'time-went-back') }).toEqual({
      ok: true,
      problems: [],
    });
    expect((await after.audit.head(id))?.count).toBeGreaterThanOrEqual(count);
  }
  await after.close();
});
