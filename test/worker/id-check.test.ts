import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sandboxIdFrom } from '../../model/ids.ts';
import { findForgedId } from '../../worker/id-check.ts';

const ID = sandboxIdFrom(new Uint8Array(10).fill(7));

// Unit, milliseconds. Guards: an activity's arguments are untrusted, and an invalid id never becomes part of a path or
// domain.
describe("ids in an activity's argument", () => {
  it.each([
    [{ sandboxId: 'production-db' }, 'sandboxId "production-db"'],
    [{ sandboxId: '../../etc', generation: 1 }, 'sandboxId "../../etc"'],
    [{ sandboxId: ID, generation: 1, snapshotId: `${ID}/..` }, `snapshotId "${ID}/.."`],
    [{ sandboxId: { toString: 'x' } }, 'sandboxId {"toString":"x"}'],
    [{ sandboxId: [ID] }, `sandboxId ["${ID}"]`],
    [{ request: { clone: [{ captureId: '--all' }] } }, 'captureId "--all"'],
    [{ sandboxIds: [ID, 'x'] }, `sandboxIds ["${ID}","x"]`],
    [{ hostIds: 'x' }, 'hostIds "x"'],
    [{ observer: { hostId: 'a b', installationId: null } }, 'hostId "a b"'],
  ])('refuses %j', (argument, found) => expect(findForgedId([argument])).toBe(found));

  it('accepts ids, null, and fields of other names', () => {
    const argument = {
      sandboxId: ID,
      snapshotId: null,
      captureId: undefined,
      sandboxIds: [ID],
      source: '../x',
      Ids: 3,
    };
    expect(findForgedId([argument, 'sandboxId', null])).toBeNull();
  });

  it('accepts the serialization keys of host steps, and the compensation of a restore', () => {
    const end = ID.slice('sbx-'.length);
    for (const sandboxId of [`snp-${end}`, `cap-${end}`, `src-${end}`, `src-${end}/power`]) {
      expect(findForgedId([{ sandboxId, restoreId: `opn-${end}-back` }])).toBeNull();
    }
    expect(findForgedId([{ sandboxId: `sbx-${end}/power` }])).not.toBeNull();
    expect(findForgedId([{ restoreId: '-back' }])).not.toBeNull();
  });

  it('refuses any other text', () => {
    const text = fc.string().filter((one) => !/^(?:sbx|src|snp|cap)-[0-9a-hjkmnp-tv-z]{16}(?:\/power)?$/.test(one));
    fc.assert(fc.property(text, (sandboxId) => findForgedId([{ sandboxId }]) !== null));
  });
});
