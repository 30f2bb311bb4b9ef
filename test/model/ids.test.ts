import { expect, test } from 'vitest';
import * as ids from '../../model/ids.ts';

test('no id, nor anything with the prefix of one, can name a sandbox', () => {
  const made = Object.entries(ids).flatMap(([name, make]) =>
    name.endsWith('IdFrom') ? [(make as (random: Uint8Array) => string)(new Uint8Array(ids.ID_BYTES))] : [],
  );
  made.push(ids.deriveSourceId('kvm-1', 'golden'));
  expect(made.length).toBeGreaterThan(5);
  for (const id of made) {
    expect(ids.isSandboxName(id)).toBe(false);
    expect(ids.isSandboxName(`${id.slice(0, 4)}web`)).toBe(false);
    expect(ids.isSandboxName(id.slice(0, 3))).toBe(true);
  }
  for (const name of ['web', 'a', 'a-b-c', 'x'.repeat(63)]) {
    expect([ids.isSandboxName(name), ids.isSandboxId(name), ids.isAuditSubject(name)]).toEqual([true, false, false]);
  }
});
