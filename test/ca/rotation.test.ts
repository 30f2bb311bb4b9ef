import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../ca/public-key.ts';
import { beginRotation, distrustPreviousKey, finishRotation, readKeys } from '../../ca/rotation.ts';
import { UserCa } from '../../ca/user-ca.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { useFreshFolder } from '../support/use-folder.ts';

describe('a rotation', () => {
  const directory = useFreshFolder();
  let ca: UserCa;
  let first: string;
  beforeEach(async () => {
    ca = await UserCa.open(directory);
    first = (await readKeys(directory)).current;
  });

  const signedBy = async () => {
    const actor = { apiKeyId: 'key1', agentId: null, project: 'default' };
    const { publicKey } = makeKeyPair('guest');
    const signed = await ca.sign({ sandboxId: 'sbx-0000000000000001', publicKey, actor, source: 'golden', serial: 1n });
    return signed.signedBy;
  };

  test('each stage trusts every key that may have signed, and an open CA follows at once', async () => {
    const old = parsePublicKey(first).fingerprint;
    await beginRotation(directory);
    const { next, stage } = await readKeys(directory);
    expect(stage).toBe('begun');
    expect(await ca.publicKeys()).toEqual([first, next]);
    expect(await signedBy()).toBe(old);
    expect((await stat(join(directory, 'user_ca_next'))).mode & 0o777).toBe(0o600);

    await finishRotation(directory);
    expect(await ca.publicKeys()).toEqual([next, first]);
    expect((await readKeys(directory)).stage).toBe('finished');
    expect(await signedBy()).toBe(parsePublicKey(next ?? '').fingerprint);
    expect((await stat(join(directory, 'user_ca'))).mode & 0o777).toBe(0o600);

    await distrustPreviousKey(directory);
    expect(await ca.publicKeys()).toEqual([next]);
    expect(await readdir(directory)).toEqual(['user_ca']);
  });

  test('each step may be repeated', async () => {
    await beginRotation(directory);
    const begun = await readKeys(directory);
    await beginRotation(directory);
    expect(await readKeys(directory)).toEqual(begun);
    await finishRotation(directory);
    const finished = await readKeys(directory);
    await finishRotation(directory);
    expect(await readKeys(directory)).toEqual(finished);
    await distrustPreviousKey(directory);
    await distrustPreviousKey(directory);
    expect(await readKeys(directory)).toMatchObject({ stage: 'none', current: finished.current });
  });

  test('a step out of order changes nothing', async () => {
    await expect(finishRotation(directory)).rejects.toThrow('--begin` first');
    await beginRotation(directory);
    const begun = await readKeys(directory);
    await expect(distrustPreviousKey(directory)).rejects.toThrow('--finish` first');
    expect(await readKeys(directory)).toEqual(begun);
    await finishRotation(directory);
    const finished = await readKeys(directory);
    await expect(beginRotation(directory)).rejects.toThrow('--forget` first');
    expect(await readKeys(directory)).toEqual(finished);
  });

  test('a kill between any two writes of the finish distrusts no key that has signed, and the finish can be repeated', async () => {
    await beginRotation(directory);
    const { next } = await readKeys(directory);
    await writeFile(join(directory, 'user_ca_previous.pub'), `${first}\n`);
    expect(await ca.publicKeys()).toEqual([first, next]);
    await rename(join(directory, 'user_ca_next'), join(directory, 'user_ca'));
    expect(await ca.publicKeys()).toEqual([next, first]);
    await finishRotation(directory);
    expect(await readKeys(directory)).toEqual({ stage: 'finished', current: next, next: null, previous: first });
  });

  test('a kill before the next key is published keeps that key', async () => {
    await beginRotation(directory);
    const { next } = await readKeys(directory);
    await rm(join(directory, 'user_ca_next.pub'));
    expect((await readKeys(directory)).stage).toBe('none');
    await beginRotation(directory);
    expect((await readKeys(directory)).next).toBe(next);
  });

  test('a reader during the finish sees all trusted keys', async () => {
    await beginRotation(directory);
    const { next } = await readKeys(directory);
    const seen: Promise<string[]>[] = [];
    const reader = setInterval(() => seen.push(ca.publicKeys()), 0);
    await finishRotation(directory);
    clearInterval(reader);
    for (const keys of await Promise.all(seen)) expect(new Set(keys)).toEqual(new Set([first, next]));
  });
});
