import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { SavedMemory } from '../../../host/libvirt/client/saved-memory.ts';
import { jobOf, maxMemoryKib } from '../../../host/libvirt/output/job-info.ts';
import { sandboxId } from '../../store/support.ts';
import { useFolder } from '../../support/use-folder.ts';

const ID = sandboxId(1);
const folder = useFolder();
let saved: SavedMemory;
beforeAll(async () => {
  saved = new SavedMemory(folder);
});

test('a save without enough space is refused, with the figures and the folder', async () => {
  await saved.refuseWithoutRoom(ID, 1024);
  await expect(saved.refuseWithoutRoom(ID, 1e15)).rejects.toMatchObject({
    code: 'hibernate_failed',
    message: expect.stringMatching(new RegExp(`may need \\d+ MiB in ${folder} of its host, which has \\d+ MiB left`)),
  });
});

test('only a file named after a sandbox counts as saved memory', async () => {
  expect(await new SavedMemory(join(folder, 'not-there')).sandboxIds()).toEqual([]);
  for (const name of [`${ID}.save`, 'golden.save', `${ID}.save.new`]) await writeFile(join(folder, name), 'memory');
  expect(await saved.sandboxIds()).toEqual([ID]);
  expect(await saved.allocatedBytes(ID)).toBeGreaterThan(0);
  for (let twice = 0; twice < 2; twice++) await saved.remove(ID);
  expect([await saved.sandboxIds(), await saved.allocatedBytes(ID)]).toEqual([[], 0]);
});

test('an unmounted libvirt folder proves no absence, and prevents removal', async () => {
  const unseen = new SavedMemory(join(folder, 'not-there'));
  const refusal = { code: 'host_unavailable', message: expect.stringMatching(/not-there.* mounted/) };
  await expect(unseen.look(ID)).rejects.toMatchObject(refusal);
  await expect(unseen.remove(ID)).rejects.toMatchObject(refusal);
  expect(await saved.look(ID)).toBe(false);
  await writeFile(saved.of(ID), 'memory');
  expect(await saved.look(ID)).toBe(true);
});

// output of virsh 9.0
const SAVING = `Job type:         Unbounded   
Operation:        Save
Time elapsed:     287          ms
Data processed:   79.016 MiB
Data remaining:   393.797 MiB
`;
const INFO = `Id:             3
Name:           sbx-14m1m7cz973c4hrt
UUID:           171cf3d8-0aa2-54b2-8759-8691ee153a2d
Max memory:     524288 KiB
Used memory:    262144 KiB
Managed save:   no
`;

test('parses the output of virsh about a job and memory', () => {
  expect(jobOf(SAVING)).toBe('Save');
  expect(jobOf('Job type:         None        \n\n')).toBeNull();
  expect(jobOf('')).toBeNull();
  expect(maxMemoryKib(INFO)).toBe(524_288);
  expect(maxMemoryKib('Max memory:     no limit\n')).toBeNull();
});
