import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sshArguments } from '../../cli/ssh/ssh.ts';
import { makeKeyPair } from '../../host/ssh/key-pair.ts';
import { StateDir } from '../../host/state-dir.ts';
import { useFreshFolder } from '../support/use-folder.ts';

const ID = 'sbx-0000000000000001';

describe('mayfly ssh', () => {
  const folder = useFreshFolder();
  const issued = {
    serial: '1',
    keyId: 'x',
    certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA',
    validAfter: '',
    validBefore: '',
    principal: ID,
    user: 'sandbox',
    address: '10.213.0.9',
    port: 22,
    hostKey: `${makeKeyPair('host').publicKey}`,
    knownHosts: '',
  };

  test.each([
    ['caa-027', { user: '-oProxyCommand=touch /tmp/x' }],
    ['caa-028', { user: 'x; touch /tmp/pwned; #' }],
    ['an address', { address: '-oProxyCommand=x' }],
    ['an address', { address: 'evil.example' }],
    ['a port', { port: 70_000 }],
    ['caa-029', { hostKey: '* ssh-ed25519 AAAA' }],
    ['caa-029', { hostKey: `${issued.hostKey}\n* ${issued.hostKey}` }],
    ['a certificate', { certificate: 'ssh-ed25519 AAAA' }],
  ])('%s: %j from an API is not given to ssh', async (_case, change) => {
    await expect(sshArguments(folder, ID, { ...issued, ...change })).rejects.toMatchObject({ exitCode: 1 });
    expect(await readdir(folder)).toEqual([]);
  });

  test('caa-029: the pinned host key is the only one, under the name of the sandbox', async () => {
    const argv = await sshArguments(folder, ID, issued);
    for (const option of ['StrictHostKeyChecking=yes', 'GlobalKnownHostsFile=none', `HostKeyAlias=${ID}`]) {
      expect(argv).toContain(option);
    }
    expect(argv.slice(0, 2)).toEqual(['-F', 'none']);
    expect(argv.slice(-2)).toEqual(['--', '10.213.0.9']);
    const [type, blob] = issued.hostKey.split(' ');
    expect(await readFile(join(folder, 'known_hosts'), 'utf8')).toBe(`${ID} ${type} ${blob}\n`);
  });
});

test('caa-024: an invalid id yields no path', () => {
  const state = new StateDir('/var/lib/mayfly');
  for (const id of ['../../etc', 'sbx-', `${ID}/..`, 'src-../../etc']) expect(() => state.credentialsOf(id)).toThrow();
});
