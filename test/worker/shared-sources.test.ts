import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { SourceInfo, StoredHost } from '../../model/host.ts';
import { SharedSources } from '../../worker/machine/shared-sources.ts';
import { hostRecord } from '../support/host-record.ts';

const source = (name: string, rest: Partial<SourceInfo> = {}): SourceInfo => ({
  name,
  cloneable: true,
  problem: null,
  cpus: 1,
  memoryMib: 64,
  diskBytes: 1,
  content: null,
  ...rest,
});

function host(id: string, silentMs: number, ...names: string[]): StoredHost {
  return { ...hostRecord(id, { sources: names.map((name) => source(name)) }), silentMs };
}

it('reads only sources shared with another live host; a failed read is not repeated at once', async () => {
  const read: string[] = [];
  const contentOf = async (name: string) => {
    read.push(name);
    if (name === 'broken') throw new Error('no such disk');
    return name === 'device' ? null : 'x';
  };
  const others = [
    host('mine', 0, 'alone'),
    host('b', 0, 'web', 'runs', 'known', 'broken', 'device'),
    host('c', 60_000, 'old'),
  ];
  const store = { hosts: { list: async () => others } };
  const shared = new SharedSources({
    hostId: 'mine',
    hypervisor: { contentOf },
    store,
    logger: pino({ level: 'silent' }),
  });
  const own = [
    ...['web', 'alone', 'old', 'broken', 'device'].map((name) => source(name)),
    source('runs', { cloneable: false }),
    source('known', { content: 'y' }),
  ];
  const { signal } = new AbortController();
  await shared.read(own, signal);
  expect(read).toEqual(['web', 'broken', 'device']);
  await shared.read(own, signal);
  expect(read.slice(3)).toEqual(['web']); // has changed
  await shared.read(own, AbortSignal.abort());
  expect(read).toHaveLength(4);
});
