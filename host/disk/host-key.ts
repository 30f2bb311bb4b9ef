import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../os/absent.ts';
import { makeKeyPair } from '../ssh/key-pair.ts';

export interface HostKey {
  /** OpenSSH private key, PEM-like text. It goes only into the seed. */
  privateKey: string;
  /** OpenSSH public key, one line; its comment is the sandbox id. */
  publicKey: string;
}

/** Returns the sandbox's SSH host key, made once in its workspace (mode 0600) and kept over every retry. */
export async function ensureHostKey(workspace: string, sandboxId: string): Promise<HostKey> {
  const path = join(workspace, 'ssh_host_ed25519_key');
  if ((await orAbsent(readFile(path))) === null) {
    const fresh = `${path}.new`;
    for (const old of [fresh, `${fresh}.pub`]) await rm(old, { force: true });
    const pair = makeKeyPair(sandboxId);
    await writeFile(fresh, pair.privateKey, { mode: 0o600, flag: 'wx' });
    await writeFile(`${fresh}.pub`, `${pair.publicKey}\n`, { mode: 0o644, flag: 'wx' });
    await rename(`${fresh}.pub`, `${path}.pub`);
    await rename(fresh, path); // last, so that the public key exists whenever the private one does
  }
  const [privateKey, publicKey] = await Promise.all([readFile(path, 'utf8'), readFile(`${path}.pub`, 'utf8')]);
  return { privateKey, publicKey: publicKey.trim() };
}
