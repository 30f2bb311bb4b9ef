import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exec } from '../host/os/exec.ts';

export interface Revoked {
  /** Decimal. */
  serial: string;
  keyId: string;
}

/**
 * Number of revocations above which key ids are omitted: each takes 116 bytes under each CA, a serial a few at most,
 * and either is enough. Lists travel through Temporal, which takes 2 MiB.
 */
const MAX_WITH_KEY_IDS = 1_000;

/**
 * Returns a key revocation list (PROTOCOL.krl of OpenSSH) for sshd's `RevokedKeys`, with each certificate by serial
 * and, of up to {@link MAX_WITH_KEY_IDS}, by key id. It counts only under the CAs that it names, so it names every trusted
 * one. Base64; empty without revocations.
 * @param caKeys public key lines of the CAs
 * @throws ExecError when ssh-keygen fails
 */
export async function createRevocationList(caKeys: readonly string[], revoked: readonly Revoked[]): Promise<string> {
  if (revoked.length === 0) return '';
  const scratch = await mkdtemp(join(tmpdir(), 'mayfly-krl-'));
  try {
    const [list, ca, specification] = ['krl', 'ca.pub', 'revoked'].map((name) => join(scratch, name)) as [
      string,
      string,
      string,
    ];
    const isNamed = revoked.length <= MAX_WITH_KEY_IDS;
    const lines = revoked.flatMap(({ serial, keyId }) => [`serial: ${serial}`, ...(isNamed ? [`id: ${keyId}`] : [])]);
    await writeFile(specification, `${lines.join('\n')}\n`, { mode: 0o600 });
    for (const [i, caKey] of caKeys.entries()) {
      await writeFile(ca, `${caKey}\n`, { mode: 0o600 });
      await exec('ssh-keygen', ['-q', '-k', ...(i > 0 ? ['-u'] : []), '-f', list, '-s', ca, specification]);
    }
    return (await readFile(list)).toString('base64');
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
