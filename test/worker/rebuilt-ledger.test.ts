import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { Mark } from '../../host/hypervisor.ts';
import { Ledger } from '../../host/ledger.ts';
import type { StateDir } from '../../host/state-dir.ts';
import type { Layer } from '../../model/sandbox/layers.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { rebuildLedger } from '../../worker/machine/rebuilt-ledger.ts';
import { temporaryState } from '../host/temporary-state.ts';

const HERE = {
  hostId: 'kvm-1',
  installationId: 'ins-000000000000000000000001',
  kind: 'libvirt',
  hostUuid: null,
} as const;
const PROMISE = { memoryMib: 64, diskBytes: 1_000 };

function idOf(n: number): string {
  return `sbx-${String(n).padStart(16, '0')}`;
}

function mark(sandboxId: string, layer: Layer): Mark {
  return { sandboxId, observation: { layer, lookedAt: 'x', absent: false, at: '2026-01-01T00:00:00.000Z' } };
}

/** Returns a live record. @param installationId of the host chosen for it */
function living(id: string, state = 'running', installationId: string | null = HERE.installationId): SandboxRecord {
  const host = { hostId: HERE.hostId, installationId };
  const spec = { source: 'golden', snapshotId: null, memoryMib: null };
  return { id, state, spec, ...host, askedHosts: [host] } as unknown as SandboxRecord;
}

async function freshState(): Promise<StateDir> {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  return state;
}

/** Rebuilds a ledger from the machine and the store, as at a worker's start. */
async function rebuilt(options: {
  promised?: string[];
  damaged?: string[];
  marks?: Mark[];
  records?: SandboxRecord[];
}): Promise<Ledger> {
  const { promised = [], damaged = [], marks = [], records = [] } = options;
  const state = await freshState();
  const before = new Ledger(state);
  await before.open();
  for (const sandboxId of promised) await before.restore({ sandboxId, ...PROMISE });
  for (const id of damaged) await writeFile(state.reservationOf(id), '{"sandb');
  const ledger = new Ledger(state);
  await ledger.open();
  const source = { name: 'golden', memoryMib: 512, diskBytes: 9_000 };
  const hypervisor = {
    marks: async () => marks,
    sources: async () => [source],
    residentMib: async () => 33.5,
    diskBytes: async () => 44,
  };
  const get = async (id: string) => records.find((record) => record.id === id) ?? null;
  const deps = { hypervisor, credentials: { marks: async () => [] }, ledger, store: { sandboxes: { get } } };
  const logger = pino({ level: 'silent' });
  await rebuildLedger({ ...deps, observer: HERE, logger } as unknown as Parameters<typeof rebuildLedger>[0]);
  const successor = new Ledger(state); // the files agree
  await successor.open();
  expect(successor.totals()).toEqual(ledger.totals());
  expect(successor.unreadable()).toEqual([]);
  return ledger;
}

test('a reservation without a live record or residue is dropped', async () => {
  const records = [living(idOf(2), 'destroyed'), living(idOf(3), 'running', 'ins-000000000000000000000009')];
  expect((await rebuilt({ promised: [idOf(1), idOf(2), idOf(3)], records })).sandboxIds()).toEqual([]);
});

test('a reservation is kept while its sandbox lives, or has residue here', async () => {
  const [here, begun] = [idOf(1), idOf(2)];
  const ledger = await rebuilt({
    promised: [here, begun],
    marks: [mark(here, 'lease')],
    records: [living(begun, 'creating')],
  });
  expect(ledger.totals()).toEqual({ memoryMib: 128, diskBytes: 2_000, sandboxes: 2 });
});

test('a sandbox here without a reservation gets one: of the size in its record, or of its actual use', async () => {
  const [known, unknown, named] = [idOf(1), idOf(2), idOf(3)];
  const marks = [mark(known, 'domain'), mark(known, 'workspace'), mark(unknown, 'workspace'), mark(named, 'lease')];
  const ledger = await rebuilt({ marks, records: [living(known)] });
  expect(ledger.sandboxIds().toSorted()).toEqual([known, unknown]);
  expect(ledger.totals()).toMatchObject({ memoryMib: 512 + 34, diskBytes: 9_000 + 44 });
});

test('a hibernated sandbox reserves disk, and no memory', async () => {
  const ledger = await rebuilt({ marks: [mark(idOf(1), 'domain')], records: [living(idOf(1), 'hibernated')] });
  expect(ledger.totals()).toEqual({ memoryMib: 0, diskBytes: 9_000 + 512 * 1024 * 1024, sandboxes: 1 });
});

test('a damaged file is replaced if its sandbox is here, and removed otherwise', async () => {
  const [here, gone] = [idOf(1), idOf(2)];
  const ledger = await rebuilt({ damaged: [here, gone], marks: [mark(here, 'domain')], records: [living(here)] });
  expect(ledger.totals()).toEqual({ memoryMib: 512, diskBytes: 9_000, sandboxes: 1 });
});
