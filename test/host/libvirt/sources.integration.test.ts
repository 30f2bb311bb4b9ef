import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { BaseDigests } from '../../../host/disk/base-digest.ts';
import { Virsh } from '../../../host/libvirt/client/virsh.ts';
import { Sources } from '../../../host/libvirt/layers/sources.ts';
import { DEFAULT_INTERVALS } from '../../../model/intervals.ts';
import { useFolder } from '../../support/use-folder.ts';

const SANDBOX = 'sbx-0000000000000000';
const SAVED = 'It has a saved memory image, so its disk is not at rest.';

let virsh: Virsh;
let asked: string[];
/** Names of all domains, of active ones, and of those with saved memory. */
let domains: { all: string[]; active: string[]; saved: string[] };
/** Memory in each definition, MiB. */
let memory: number;

const folder = useFolder();
let digests: BaseDigests;

beforeAll(async () => {
  digests = new BaseDigests(folder);
  await writeFile(join(folder, 'disk'), new Uint8Array(1_024));
});

const disk = () =>
  `<disk type="file" device="disk"><driver name="qemu" type="raw"/><source file="${join(folder, 'disk')}"/><target dev="vda" bus="virtio"/></disk>`;
const lines = (names: string[]) => names.map((name) => `${name}\n`).join('');

beforeEach(() => {
  asked = [];
  domains = { all: ['golden one', 'web', SANDBOX], active: [SANDBOX], saved: ['web'] };
  memory = 512;
  virsh = new Virsh('test:///default');
  vi.spyOn(virsh, 'run').mockImplementation(async ([command = '', argument = '', ...rest]) => {
    if (rest.includes('--with-managed-save')) return lines(domains.saved);
    asked.push(command.startsWith('list') ? 'list' : `${command} ${argument}`);
    if (command !== 'dumpxml') return `${lines(domains.all)}\n//${lines(domains.active)}\n//${lines(domains.saved)}\n`;
    const name = argument.replace('--domain=', '');
    const id = domains.active.includes(name) ? ' id="3"' : '';
    const resources = `<memory unit="MiB">${memory}</memory><vcpu>1</vcpu>`;
    return `<domain type="kvm"${id}><name>${name}</name>${resources}<devices>${disk()}</devices></domain>`;
  });
});
afterEach(() => vi.restoreAllMocks());

describe('Sources.list', () => {
  it('lists once for all, and reads each definition once', async () => {
    const sources = new Sources(virsh, digests);
    expect((await sources.list()).map(({ name, memoryMib }) => [name, memoryMib])).toEqual([
      ['golden one', 512],
      ['web', 512],
    ]);
    expect(asked).toEqual(['list', 'dumpxml --domain=golden one', 'dumpxml --domain=web']);
    asked = [];
    expect((await sources.list()).find(({ name }) => name === 'web')).toMatchObject({ problem: SAVED });
    expect(asked).toEqual(['list']);
  });

  it('rereads a definition after a start, and after the domain reappears', async () => {
    const sources = new Sources(virsh, digests);
    await sources.list();
    asked = [];
    domains.active.push('golden one');
    expect((await sources.list())[0]).toMatchObject({ problem: 'It is running, so its disk is being written.' });
    expect(asked).toEqual(['list', 'dumpxml --domain=golden one']);
    const all = domains.all;
    domains.all = [SANDBOX];
    expect(await sources.list()).toEqual([]);
    domains.all = all;
    memory = 1_024;
    expect((await sources.list()).map(({ memoryMib }) => memoryMib)).toEqual([1_024, 1_024]);
  });

  it('rereads a definition after its interval', async () => {
    const sources = new Sources(virsh, digests, { ...DEFAULT_INTERVALS, definitionMs: 0 });
    await sources.list();
    memory = 1_024;
    expect((await sources.list())[0]).toMatchObject({ memoryMib: 1_024 });
  });

  it('returns the content of a source once it is known, until its disk changes', async () => {
    const sources = new Sources(virsh, digests);
    const context = { signal: new AbortController().signal, alive: () => {} };
    const content = async () => (await sources.list()).map((source) => source.content);
    expect(await content()).toEqual([null, null]);
    const read = await sources.contentOf('golden one', context);
    expect(read).toMatch(/^[0-9a-f]{64}$/);
    expect(await content()).toEqual([read, null]); // saved memory: not at rest
    await chmod(join(folder, 'disk'), 0o644);
    await writeFile(join(folder, 'disk'), new Uint8Array(1_024).fill(1));
    expect(await content()).toEqual([null, null]);
    expect(await sources.contentOf('golden one', context)).not.toBe(read);
    await expect(sources.contentOf('web', context)).rejects.toMatchObject({ code: 'source_running' });
  });
});
