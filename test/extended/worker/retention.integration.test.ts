import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import mongoose from 'mongoose';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { Store } from '../../../store/connect.ts';
import type { RetentionSettings } from '../../../worker/config/config.ts';
import { RetentionPass } from '../../../worker/upkeep/retention.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { command, commandId, record, sandboxId, snapshot, snapshotId } from '../../store/support.ts';
import { openStore } from '../../support/open-store.ts';
import { sweep } from '../../support/sweep.ts';
import { useStore } from '../../support/use-store.ts';

const ENDED = '2026-01-01T00:00:00.000Z';
/** Indexes of the writes of a pass with one sandbox: removals, their counts, and its audit. */
const WRITES = Array.from({ length: 19 }, (_, nth) => nth);
let store: Store;
let db: mongoose.Connection;
let uri: string;
let last = 0;

useStore(
  (opened) => {
    ({ store, db, uri } = opened);
  },
  { auditKey: Buffer.alloc(32, 7) },
);

async function exportFolder(): Promise<string> {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  return join(state.root, 'export');
}

function event(n: number): AuditEvent {
  const at = new Date(Date.parse(ENDED) + n).toISOString();
  return { eventId: `e${n}`, kind: 'sandbox.state', actor: null, runId: null, hostId: null, at, detail: {} };
}

/** Creates a sandbox with a command and its output, certificate, use, audit and a deleted snapshot. */
async function sandbox(changes: Partial<SandboxRecord> = {}): Promise<string> {
  const n = ++last;
  const id = sandboxId(n);
  await store.sandboxes.create(record(n, { state: 'destroyed', updatedAt: ENDED, ...changes }));
  for (let entry = 0; entry < 3; entry++) await store.audit.append(id, event(entry));
  await store.commands.create(command(n, { sandboxId: id }));
  await store.commandInputs.keep(commandId(n), { env: { TOKEN: 'hunter2' }, stdin: Buffer.alloc(0) });
  for (const chunk of [0, 1]) {
    await store.output.put(commandId(n), 'stdout', chunk, { bytes: Buffer.from([255, 0, chunk]), marks: [] });
  }
  await store.activity.touch(id);
  await store.snapshots.create(snapshot(n, { sandboxId: id }));
  await store.snapshots.update(snapshotId(n), { state: 'deleted' });
  const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };
  const signed = { keyId: 'k', actor, fingerprint: 'f', signedBy: 's', validAfter: ENDED, validBefore: ENDED };
  const unrevoked = { revokedAt: null, revokedBy: null, refusedAt: null };
  await store.certificates.add({ serial: String(n), sandboxId: id, purpose: 'caller', ...signed, ...unrevoked });
  return id;
}

/** Counts the documents of a sandbox by collection, those with none left out. */
async function stored(id: string): Promise<Record<string, number>> {
  const n = Number(id.slice(4));
  const filters: [string, Record<string, unknown>][] = [
    ['endedSandboxes', { _id: id }],
    ['commands', { sandboxId: id }],
    ['output', { _id: { $in: [0, 1].map((chunk) => `${commandId(n)}/stdout/${chunk}`) } }],
    ['launches', { _id: commandId(n) }],
    ['uses', { _id: id }],
    ['snapshots', { sandboxId: id }],
    ['certificates', { sandboxId: id }],
    ['audit', { sandboxId: id }],
  ];
  const counts = filters.map(
    async ([name, filter]) => [name, await db.collection(name).countDocuments(filter)] as const,
  );
  return Object.fromEntries((await Promise.all(counts)).filter(([, count]) => count > 0));
}

const WHOLE = {
  endedSandboxes: 1,
  commands: 1,
  output: 2,
  launches: 1,
  uses: 1,
  snapshots: 1,
  certificates: 1,
  audit: 3,
};
const EXPORTED = { endedSandboxes: 1, commands: 1, output: 2, uses: 1, snapshots: 1, certificates: 1 };

/** Reads the exported documents of a sandbox from all files of a folder, each once, by collection and id. */
async function exported(folder: string, id: string): Promise<Map<string, Record<string, unknown>>> {
  const all = new Map<string, Record<string, unknown>>();
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.endsWith('.gz'))) {
    for (const line of gunzipSync(await readFile(join(folder, name)))
      .toString()
      .trim()
      .split('\n')) {
      const { collection, document } = JSON.parse(line) as { collection: string; document: { _id: string } };
      const of = JSON.stringify(document);
      if (of.includes(id) || of.includes(`cmd-${id.slice(4)}/`)) all.set(`${collection} ${document._id}`, document);
    }
  }
  return all;
}

function countsOf(documents: ReadonlyMap<string, unknown>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of documents.keys()) counts[key.split(' ')[0] ?? ''] = (counts[key.split(' ')[0] ?? ''] ?? 0) + 1;
  return counts;
}

async function pass(settings: Partial<RetentionSettings>, open: readonly string[] = []): Promise<void> {
  const isOpen = async (id: string) => open.includes(id);
  const chosen = { recordDays: 90, auditDays: null, exportDir: null, ...settings };
  const deps = { store, settings: chosen, isOpen, logger: pino({ level: 'silent' }), batch: 2 };
  await new RetentionPass(deps).run(new AbortController().signal);
}

describe.sequential('the retention', () => {
  it('removes long-ended sandboxes with all their documents after the export, and keeps their audit', async () => {
    const exportDir = await exportFolder();
    const ids = [await sandbox(), await sandbox(), await sandbox({ state: 'failed' })];
    const before = (await store.retention.removed())['output'] ?? 0;
    await pass({ exportDir });
    for (const id of ids) {
      expect(await stored(id)).toEqual({ audit: 3 });
      expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 3, problems: [] });
      const documents = await exported(exportDir, id);
      expect(countsOf(documents)).toEqual(EXPORTED);
      expect(documents.get(`output cmd-${id.slice(4)}/stdout/1`)?.['bytes']).toMatchObject({
        $binary: { base64: Buffer.from([255, 0, 1]).toString('base64') },
      });
    }
    expect(JSON.stringify(await readdir(exportDir))).not.toContain('.part');
    expect((await store.retention.removed())['output']).toBe(before + 6);
    await pass({ exportDir });
    expect((await store.retention.removed())['output']).toBe(before + 6);
  });

  it('keeps sandboxes that live, ended lately, have a snapshot, an open workflow, or waiting events', async () => {
    const lives = sandboxId(++last);
    await store.sandboxes.create(record(last, { state: 'running', updatedAt: ENDED }));
    const late = await sandbox({ updatedAt: new Date(Date.now() - 89 * 24 * 3_600_000).toISOString() });
    const saved = await sandbox();
    await store.snapshots.create(snapshot(last + 500, { sandboxId: saved, state: 'ready' }));
    const open = await sandbox();
    const again = await sandbox();
    await db.collection<{ _id: string }>('sandboxes').insertOne({ ...record(last), _id: again });
    const waits = await sandbox();
    const forged = { sandboxId: waits, seq: 3, body: '{}', hash: 'x', previousHash: 'y', recent: [] };
    await db.collection<{ _id: string }>('audit').insertOne({ _id: `${waits}/3`, ...forged });
    await store.audit.record(waits, event(3));
    const free = await sandbox();
    await pass({}, [open]);
    expect((await store.sandboxes.get(lives))?.state).toBe('running');
    for (const id of [late, saved, open, again]) expect({ ...(await stored(id)), snapshots: 1 }).toEqual(WHOLE);
    expect(await stored(waits)).toEqual({ ...WHOLE, audit: 4 });
    expect(await stored(free)).toEqual({ audit: 3 });
    await db.collection<{ _id: string }>('sandboxes').deleteOne({ _id: again });
    await db.collection<{ _id: string }>('audit').deleteOne({ _id: `${waits}/3` });
    await store.audit.appendWaiting();
  });

  it('without a limit keeps all; a pass without an export, or without Temporal, removes nothing', async () => {
    const id = await sandbox();
    await pass({ recordDays: null });
    const file = await exportFolder();
    await writeFile(file, 'not a folder');
    await expect(pass({ exportDir: file })).rejects.toThrow('EEXIST');
    const unknown = async () => Promise.reject(new Error('Temporal is away'));
    const settings = { recordDays: 90, auditDays: null, exportDir: null };
    const logger = pino({ level: 'silent' });
    const cut = new RetentionPass({ store, settings, isOpen: unknown, logger }).run(new AbortController().signal);
    await expect(cut).rejects.toThrow('Temporal is away');
    expect(await stored(id)).toEqual(WHOLE);
  });

  sweep(WRITES)(
    'killed before its write %i loses nothing that is not exported, and the next pass continues',
    async (nth) => {
      const exportDir = await exportFolder();
      await pass({ exportDir, auditDays: 90 }); // other sandboxes of this file
      const id = await sandbox();
      const before = await stored(id);
      let left = nth;
      let isKilled = false;
      mongoose.set('debug', (_collection: string, method: string) => {
        if (!/^(delete|update|insert|replace)/.test(method) || left-- > 0) return;
        isKilled = true;
        throw new Error('killed');
      });
      onTestFinished(() => void mongoose.set('debug', false));
      await expect(pass({ exportDir, auditDays: 90 })).rejects.toThrow('killed');
      mongoose.set('debug', false);
      expect(isKilled).toBe(true);
      const [now, saved] = [await stored(id), countsOf(await exported(exportDir, id))];
      for (const [name, count] of Object.entries(before)) {
        if (name !== 'launches' && (now[name] ?? 0) < count) expect(saved[name]).toBe(count);
      }
      await pass({ exportDir, auditDays: 90 });
      expect(await stored(id)).toEqual({});
      expect(countsOf(await exported(exportDir, id))).toMatchObject({ ...EXPORTED, audit: 3 });
      expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 0, expired: 3, problems: [] });
    },
  );
});

describe.sequential('an expired audit trail', () => {
  it('leaves its head, which accepts more entries and distinguishes expiry from tampering', async () => {
    const exportDir = await exportFolder();
    const id = await sandbox();
    await pass({ exportDir, auditDays: 90 });
    expect(await stored(id)).toEqual({});
    expect((await store.audit.head(id))?.count).toBe(3);
    const fresh = await openStore(uri, { auditKey: Buffer.alloc(32, 7) });
    onTestFinished(() => fresh.close());
    await fresh.audit.append(id, event(9));
    expect(await store.audit.verify(id)).toEqual({ ok: true, entries: 1, expired: 3, problems: [] });

    const entries = db.collection<{ _id: string; [field: string]: unknown }>('audit');
    const heads = db.collection<{ _id: string; [field: string]: unknown }>('auditHeads');
    await entries.updateOne({ _id: `${id}/3` }, { $set: { previousHash: 'f'.repeat(64) } });
    expect(await store.audit.verify(id)).toMatchObject({ ok: false, problems: [{ seq: 3, kind: 'edited' }] });
    await entries.deleteOne({ _id: `${id}/3` });
    expect(await store.audit.verify(id)).toMatchObject({ ok: false, problems: [{ seq: 3, kind: 'truncated' }] });
    const head = await heads.findOne({ _id: id });
    await heads.updateOne({ _id: id }, { $set: { expired: String(head?.['expired']).replace(/^3/, '4') } });
    const kinds = (await store.audit.verify(id)).problems.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['forged-head', 'truncated']));
  });

  it('is kept when it is broken, is younger than the recorded end, or its sandbox is recorded', async () => {
    const exportDir = await exportFolder();
    const broken = await sandbox();
    await db
      .collection<{ _id: string }>('audit')
      .updateOne({ _id: `${broken}/1` }, { $set: { body: '{"at":"2026"}' } });
    const young = await sandbox();
    await store.audit.append(young, { ...event(4), at: new Date().toISOString() });
    const recorded = await sandbox({ updatedAt: new Date().toISOString() });
    await db.collection<{ _id: string }>('auditHeads').updateOne({ _id: recorded }, { $set: { endedAt: ENDED } });
    await pass({ exportDir, auditDays: 90 });
    expect([await stored(broken), await stored(young)]).toEqual([{ audit: 3 }, { audit: 4 }]);
    expect(await stored(recorded)).toEqual(WHOLE);
    expect(await store.audit.verify(broken)).toMatchObject({ ok: false, problems: [{ seq: 1, kind: 'edited' }] });
  });
});
