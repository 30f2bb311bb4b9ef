import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sandboxIdFrom } from '../../model/ids.ts';
import { forgedIdIn } from '../../worker/id-check.ts';

const ID = sandboxIdFrom(new Uint8Array(10).fill(7));

// Unit, milliseconds. Holds: whoever queues an activity chooses its argument, and no path or domain is made of what is no id.
describe('the ids that an activity is given', () => {
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
  ])('refuses %j', (argument, found) => expect(forgedIdIn([argument])).toBe(found));

  it('takes ids, none, and what is called otherwise', () => {
    const argument = {
      sandboxId: ID,
      snapshotId: null,
      captureId: undefined,
      sandboxIds: [ID],
      source: '../x',
      Ids: 3,
    };
    expect(forgedIdIn([argument, 'sandboxId', null])).toBeNull();
  });

  it('takes what steps on a host are kept in line by, and the undo of a restore', () => {
    const end = ID.slice('sbx-'.length);
    for (const sandboxId of [`snp-${end}`, `cap-${end}`, `src-${end}`, `src-${end}/power`]) {
      expect(forgedIdIn([{ sandboxId, restoreId: `opn-${end}-back` }])).toBeNull();
    }
    expect(forgedIdIn([{ sandboxId: `sbx-${end}/power` }])).not.toBeNull();
    expect(forgedIdIn([{ restoreId: '-back' }])).not.toBeNull();
  });

  it('refuses every other text', () => {
    const text = fc.string().filter((one) => !/^(?:sbx|src|snp|cap)-[0-9a-hjkmnp-tv-z]{16}(?:\/power)?$/.test(one));
    fc.assert(fc.property(text, (sandboxId) => forgedIdIn([{ sandboxId }]) !== null));
  });
});
