import { describe, expect, it } from 'vitest';
import { createTemplateRecordActivities, templateIdsOf } from '../../activities/template/template-record.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Store } from '../../store/connect.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

const ids = templateIdsOf('snp-0123456789abcdef');
const [first = '', second = ''] = ids.probeIds;

function machine(changes: { hostKey?: string; address?: string; macAddress?: string | null } = {}) {
  const { hostKey = 'key', address = '10.0.0.1', macAddress = '52:54:00:00:00:01' } = changes;
  return { ssh: { address, port: 22, user: 'sandbox', hostKey }, macAddress };
}

/** Compares two probes that woke with these records. */
function compare(...woken: object[]): Promise<void> {
  const records = new Map(ids.probeIds.map((id, nth) => [id, woken[nth] as SandboxRecord | undefined]));
  const store = { sandboxes: { get: async (id: string) => records.get(id) ?? null } } as unknown as Store;
  return createTemplateRecordActivities({ store, reconciliation: {} as ControlTemporalClient }).compareProbes(ids);
}

describe('probes of a template', () => {
  const other = { hostKey: 'other', address: '10.0.0.2', macAddress: '52:54:00:00:00:02' };

  it('pass when they woke as different machines', async () => {
    await expect(compare(machine(), machine(other))).resolves.toBeUndefined();
  });

  it.each([
    ['host keys', { hostKey: 'key' }],
    ['addresses', { address: '10.0.0.1' }],
    ['MAC addresses', { macAddress: '52:54:00:00:00:01' }],
    ['MAC addresses', { macAddress: null }],
  ])('fail when their %s are not different', async (what, same) => {
    const failure = { code: 'template_failed', message: expect.stringContaining(`the same ${what}`) };
    await expect(compare(machine(), machine({ ...other, ...same }))).rejects.toMatchObject(failure);
  });

  it('fail when one is missing', async () => {
    await expect(compare(machine())).rejects.toMatchObject({ code: 'template_failed' });
  });

  it('have distinct ids derived from their template', () => {
    expect(new Set([first, second, ids.builderId]).size).toBe(3);
    expect(templateIdsOf(ids.templateId)).toEqual(ids);
    expect(templateIdsOf('snp-0123456789abcdeg').builderId).not.toBe(ids.builderId);
  });
});
