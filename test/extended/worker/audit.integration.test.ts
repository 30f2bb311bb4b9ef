import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { Closers } from '../../../worker/config/closers.ts';
import type { Config } from '../../../worker/config/config.ts';
import { verifyAudit } from '../../../worker/upkeep/audit.ts';
import { sandboxId } from '../../store/support.ts';
import { auditedStore } from '../../worker/audited-store.ts';

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
  const audited = await auditedStore(closers);
  config = audited.config;
  for (const id of [WITH_RECORD, WITHOUT]) await audited.store.audit.append(id, EVENT);
});
afterAll(() => closers.close());

it('verifies every chain there is, also of a sandbox whose record is gone', async () => {
  const { chains } = await verifyAudit(config, []);
  expect([...chains.keys()].sort((a, b) => a.localeCompare(b))).toEqual([WITH_RECORD, WITHOUT]);
  expect([...chains.values()].every(({ ok }) => ok)).toBe(true);
  expect([...(await verifyAudit(config, [WITHOUT])).chains.keys()]).toEqual([WITHOUT]);
});
