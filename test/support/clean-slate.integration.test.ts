import { expect, test } from 'vitest';
import { exec } from '../../host/exec.ts';
import { proveCleanSlate } from './clean-slate.ts';

test('a slate that is not clean is told so, with all that is on it', async () => {
  await proveCleanSlate();
  await exec('ip', ['link', 'add', 'mayfly0', 'type', 'bridge']);
  await exec('nft', ['add', 'table', 'inet', 'mayfly_mayfly0']);
  try {
    await expect(proveCleanSlate()).rejects.toThrow(
      'in the way of this one: the bridge mayfly0, the nftables table mayfly_mayfly0.',
    );
  } finally {
    await exec('ip', ['link', 'delete', 'mayfly0']);
    await exec('nft', ['delete', 'table', 'inet', 'mayfly_mayfly0']);
  }
  await proveCleanSlate();
});
