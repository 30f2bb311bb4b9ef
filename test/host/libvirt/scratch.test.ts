import { mkdir, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { clearScratch } from '../../../host/libvirt/client/virsh.ts';
import { temporaryState } from '../temporary-state.ts';

test('documents of a killed process are removed, those in use are not', async () => {
  const { state, remove } = await temporaryState();
  try {
    await clearScratch(state.scratch);
    for (const name of ['left', 'at-work']) await mkdir(join(state.scratch, name));
    const before = new Date(Date.now() - 3_600_000);
    await utimes(join(state.scratch, 'left'), before, before);
    await clearScratch(state.scratch);
    expect(await readdir(state.scratch)).toEqual(['at-work']);
  } finally {
    await remove();
  }
});
