import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../os/absent.ts';
import { makeKeyPair } from '../ssh/key-pair.ts';

export interface HostKey {
  /** OpenSSH private key, PEM-like text. Goes nowhere but into the seed. */
  privateKey: string;
  /** One OpenSSH public key line; its comment is the sandbox id. */
  publicKey: string;
}

/** The sandbox's SSH host key, made once in its workspace (mode 0600) and kept over every retry. */
export async function ensureHostKey(workspace: string, sandboxId: string): Promise<HostKey> {
  const path = join(workspace, 'ssh_host_ed25519_key');
  if ((await orAbsent(readFile(path))) === null) {
    const fresh = `${path}.new`;
    for (const old of [fresh, `${fresh}.pub`]) await rm(old, { force: true });
    const pair = makeKeyPair(sandboxId);
    await writeFile(fresh, pair.privateKey, { mode: 0o600, flag: 'wx' });
    await writeFile(`${fresh}.pub`, `${pair.publicKey}\n`, { mode: 0o644, flag: 'wx' });
    await rename(`${fresh}.pub`, `${path}.pub`);
    await rename(fresh, path); // last: when the private key is there, so is the public one
  }
  const [privateKey, publicKey] = await Promise.all([readFile(path, 'utf8'), readFile(`${path}.pub`, 'utf8')]);
  return { privateKey, publicKey: publicKey.trim() };
}
