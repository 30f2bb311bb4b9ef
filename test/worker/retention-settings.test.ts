import { expect, test } from 'vitest';
import { formatRetention } from '../../cli/operate/up.ts';
import { readConfig } from '../../worker/config/config.ts';
import { passIntervalMs } from '../../worker/upkeep/retention.ts';

const HOUR_MS = 3_600_000;

test('records are kept 90 days and audit forever by default', () => {
  const { retention } = readConfig({});
  expect(retention).toEqual({ recordDays: 90, auditDays: null, exportDir: null });
  expect(formatRetention(retention)).toBe(
    'records of ended sandboxes 90 days (MAYFLY_RETENTION_DAYS), their audit for ever',
  );
  expect(readConfig({ MAYFLY_RETENTION_DAYS: '' }).retention.recordDays).toBe(90);
  expect(readConfig({ MAYFLY_RETENTION_DAYS: 'forever' }).retention.recordDays).toBeNull();
  const env = { MAYFLY_RETENTION_DAYS: '1', MAYFLY_AUDIT_RETENTION_DAYS: '365.5', MAYFLY_EXPORT_DIR: '/export' };
  expect(readConfig(env).retention).toEqual({ recordDays: 1, auditDays: 365.5, exportDir: '/export' });
  expect(formatRetention(readConfig(env).retention)).toContain('sandboxes 1 day (');
});

test.each([
  [{ MAYFLY_RETENTION_DAYS: '0' }, 'MAYFLY_RETENTION_DAYS'],
  [{ MAYFLY_RETENTION_DAYS: '-1' }, 'MAYFLY_RETENTION_DAYS'],
  [{ MAYFLY_RETENTION_DAYS: 'never' }, 'MAYFLY_RETENTION_DAYS'],
  [{ MAYFLY_RETENTION_DAYS: '1e9' }, 'MAYFLY_RETENTION_DAYS'],
  [{ MAYFLY_EXPORT_DIR: 'relative' }, 'MAYFLY_EXPORT_DIR'],
  [{ MAYFLY_AUDIT_RETENTION_DAYS: '365' }, 'set MAYFLY_EXPORT_DIR'],
])('%j is refused, with the name of the variable', (env, named) => {
  expect(() => readConfig(env)).toThrow(named);
});

test('a pass starts hourly, and sooner for a very short retention', () => {
  const settings = { auditDays: null, exportDir: null };
  expect(passIntervalMs({ ...settings, recordDays: 90 })).toBe(HOUR_MS);
  expect(passIntervalMs({ ...settings, recordDays: null })).toBe(HOUR_MS);
  expect(passIntervalMs({ ...settings, recordDays: 0.0001 })).toBe(10_000);
});
