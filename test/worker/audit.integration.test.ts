import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { connectStore } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { auditKey } from '../../worker/config/secret-file.ts';
import { verifyAudit } from '../../worker/upkeep/audit.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { record, sandboxId } from '../store/support.ts';
import { startStoreServer } from '../support/store-server.ts';

const [WITH_RECORD, WITHOUT] = [sandboxId(1), sandboxId(2)];
const EVENT: AuditEvent = {
  eventId: 'event',
  kind: 'sandbox.step',
  actor: null,
  runId: null,
  hostId: null,
  at: '2026-01-01T00:00:00.000Z',
  detail: {},
};
const closers = new Closers();
let config: Config;

beforeAll(async () => {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  const server = await startStoreServer();
  closers.add('store server', () => server.stop());
  config = readConfig({ MAYFLY_STATE_DIR: state.root, MONGODB_URI: server.uri });
  const key = await auditKey(join(state.root, 'control', 'audit.key'));
  const store = await connectStore(server.uri, { auditKey: key });
  closers.add('store', () => store.close());
  await store.sandboxes.create(record(1));
  for (const id of [WITH_RECORD, WITHOUT]) await store.audit.append(id, EVENT);
});
afterAll(() => closers.close());

it('verifies every chain there is, also of a sandbox whose record is gone', async () => {
  const results = await verifyAudit(config, []);
  expect([...results.keys()].sort((a, b) => a.localeCompare(b))).toEqual([WITH_RECORD, WITHOUT]);
  expect([...results.values()].every(({ ok }) => ok)).toBe(true);
  expect([...(await verifyAudit(config, [WITHOUT])).keys()]).toEqual([WITHOUT]);
});
