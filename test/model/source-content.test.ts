import { describe, expect, it } from 'vitest';
import type { HostRecord } from '../../model/host.ts';
import { describeContentDifference, selectHostsWithSameContent } from '../../model/source-content.ts';
import { hostRecord } from '../support/host-record.ts';

const WEB = 'web-1';

function host(id: string, content: string | null, cloneable = true): HostRecord {
  const source = { name: WEB, cloneable, problem: null, cpus: 1, memoryMib: 64, diskBytes: 1, content };
  return hostRecord(id, { installationId: `ins-${id}`, sources: [source] });
}

/** Guards: a source on several hosts has the same content, or is an error. */
describe('a source on several hosts', () => {
  it.each([
    ['on one host is what it is', [host('b', null)], ['b'], undefined],
    ['that is the same is made anywhere, the best host first', [host('b', 'x'), host('a', 'x')], ['b', 'a'], 'x'],
    ['is compared where nobody has read it', [host('b', null), host('a', 'x')], ['b', 'a'], 'x'],
    ['that nobody has read is made on one of them', [host('b', null), host('a', null)], ['a'], undefined],
    ['counts where it can be cloned', [host('b', 'x'), host('a', 'y', false)], ['b', 'a'], undefined],
    [
      'that runs everywhere is proposed as it was',
      [host('b', null, false), host('a', null, false)],
      ['b', 'a'],
      undefined,
    ],
  ])('%s', (_what, hosts, hostIds, content) => {
    const proposed = hostIds.map((hostId) => ({ hostId, installationId: `ins-${hostId}` }));
    expect(selectHostsWithSameContent(hosts, WEB)).toEqual({
      hosts: proposed,
      ...(content !== undefined && { content }),
    });
  });

  it('is refused when it differs, with the hosts', () => {
    const hosts = [host('a', 'x'), host('b', 'y'), host('c', 'x'), host('d', null)];
    expect(() => selectHostsWithSameContent(hosts, WEB)).toThrow(expect.objectContaining({ code: 'source_differs' }));
    expect(describeContentDifference(hosts, WEB)).toBe(
      'The source "web-1" of a and c is not that of b: one name, and different disks.',
    );
    expect(describeContentDifference(hosts.slice(2), WEB)).toBeNull();
  });
});
