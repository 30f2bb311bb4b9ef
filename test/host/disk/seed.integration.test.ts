import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ensureHostKey } from '../../../host/disk/host-key.ts';
import { ensureSeed } from '../../../host/disk/seed.ts';
import { exec } from '../../../host/os/exec.ts';
import { useFolder } from '../../support/use-folder.ts';

const ID = 'sbx-0123456789abcdef';
const CA = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample user-ca';
const folder = useFolder();
let iso: string;

beforeAll(async () => {
  iso = join(folder, 'seed.iso');
});

const fileIn = async (path: string) => (await exec('isoinfo', ['-R', '-i', iso, '-x', `/${path}`])).stdout;

test('the seed is a NoCloud ISO with its data also as plain files, and is idempotent', async () => {
  const hostKey = await ensureHostKey(folder, ID);
  await ensureSeed(iso, { sandboxId: ID, hostKey, user: 'sandbox', userCaKeys: [CA] });
  const made = await stat(iso);
  expect(made.mode & 0o777).toBe(0o600);
  await ensureSeed(iso, { sandboxId: ID, hostKey: await ensureHostKey(folder, ID), user: 'sandbox', userCaKeys: [CA] });
  expect((await stat(iso)).ino).toBe(made.ino);

  expect((await exec('isoinfo', ['-d', '-i', iso])).stdout).toContain('Volume id: cidata');
  expect(parse(await fileIn('meta-data'))).toEqual({ 'instance-id': ID, 'local-hostname': ID });
  expect(await fileIn('mayfly/principals')).toBe(`${ID}\n`);
  expect(await fileIn('mayfly/user_ca.pub')).toBe(`${CA}\n`);
  expect(await fileIn('mayfly/ssh_host_ed25519_key.pub')).toBe(`${hostKey.publicKey}\n`);
  expect(await fileIn('mayfly/ssh_host_ed25519_key')).toBe(hostKey.privateKey);
  expect(hostKey.publicKey).toMatch(new RegExp(`^ssh-ed25519 \\S+ ${ID}$`));
});

test("the user-data is a cloud-config that admits only holders of Mayfly's certificates", async () => {
  const text = await fileIn('user-data');
  expect(text.split('\n')[0]).toBe('#cloud-config');
  const config: Record<string, unknown> = parse(text);
  expect(config).toMatchObject({
    hostname: ID,
    ssh_deletekeys: true,
    users: [{ name: 'sandbox', lock_passwd: true }],
    ssh_keys: { ed25519_private: expect.stringMatching(/^-----BEGIN OPENSSH PRIVATE KEY-----\n/) },
  });
  const files = Array.isArray(config['write_files']) ? config['write_files'] : [];
  expect(files.map((file: { path: string }) => file.path)).toEqual([
    '/etc/ssh/mayfly/user_ca.pub',
    '/etc/ssh/mayfly/principals',
    '/etc/ssh/mayfly/revoked_keys',
    '/etc/ssh/sshd_config.d/00-mayfly.conf',
  ]);
});
