import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { exec } from '../../host/os/exec.ts';
import { Credentials } from '../../host/ssh/credentials.ts';
import { useFreshState } from '../support/use-folder.ts';

const ID = 'sbx-0000000000000001';

describe('Credentials', () => {
  const state = useFreshState();
  let credentials: Credentials;

  beforeEach(async () => {
    credentials = new Credentials(state);
    await credentials.open();
  });

  test('makes a key pair for OpenSSH, in a private folder; a repetition returns the same one', async () => {
    const { publicKey } = await credentials.makeCredentials(ID);
    const directory = credentials.directory(ID);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, 'id_ed25519'))).mode & 0o777).toBe(0o600);
    const { stdout } = await exec('ssh-keygen', ['-y', '-f', join(directory, 'id_ed25519')]);
    expect(stdout.trim()).toBe(publicKey);
    expect((await readFile(join(directory, 'id_ed25519.pub'), 'utf8')).trim()).toBe(publicKey);
    expect(await credentials.makeCredentials(ID)).toEqual({ publicKey });
  });

  test('a key pair left incomplete by a crash is replaced as a whole', async () => {
    const directory = credentials.directory(ID);
    await credentials.makeCredentials(ID);
    await writeFile(join(directory, 'id_ed25519'), 'half a k');
    const { publicKey } = await credentials.makeCredentials(ID);
    const { stdout } = await exec('ssh-keygen', ['-y', '-f', join(directory, 'id_ed25519')]);
    expect(stdout.trim()).toBe(publicKey);
    expect(await readdir(state.credentials)).toEqual([ID]);
  });

  test('only a certificate is stored as one', async () => {
    await credentials.makeCredentials(ID);
    const { publicKey } = await credentials.makeCredentials(ID);
    for (const text of [publicKey, '', 'ssh-ed25519-cert-v01@openssh.com AAAA\nssh-ed25519 AAAA']) {
      await expect(credentials.storeCertificate(ID, text)).rejects.toMatchObject({ code: 'internal' });
    }
  });

  test('removal is complete, idempotent, and covers the residue of a crash', async () => {
    await credentials.makeCredentials(ID);
    await writeFile(`${credentials.directory(ID)}.new`, '');
    expect(await credentials.marks()).toHaveLength(2);
    await credentials.removeCredentials(ID);
    await credentials.removeCredentials(ID);
    expect(await credentials.look(ID)).toMatchObject({ layer: 'credentials', absent: true });
    expect(await credentials.marks()).toEqual([]);
    expect(await readdir(state.credentials)).toEqual([]);
  });

  test('the folder depends on the id alone (caa-024)', async () => {
    await expect(credentials.makeCredentials('../../etc')).rejects.toThrow('neither a sandbox id nor a source id');
    await expect(credentials.removeCredentials('..')).rejects.toThrow('neither a sandbox id nor a source id');
    await expect(credentials.look('sbx-0000000000000001/../x')).rejects.toThrow('neither a sandbox id nor a source id');
  });
});
