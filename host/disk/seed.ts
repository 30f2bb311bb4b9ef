import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { isThere } from '../os/directory.ts';
import { exec } from '../os/exec.ts';
import { cloudConfig, lines, type SeedContent } from './cloud-config.ts';

/**
 * Makes the seed image unless it exists. Label `cidata`, as cloud-init's NoCloud expects; the folder `mayfly` has the
 * same for images without cloud-init. Mode 0600: it holds the guest's host key.
 */
export async function ensureSeed(iso: string, content: SeedContent): Promise<void> {
  if (await isThere(iso)) return;
  const tree = join(dirname(iso), 'seed.new');
  const fresh = `${iso}.new`;
  await rm(tree, { recursive: true, force: true });
  await mkdir(join(tree, 'mayfly'), { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(seedFiles(content))) {
    await writeFile(join(tree, name), text, { mode: 0o600 });
  }
  // made empty first, so that it is never readable by others
  await writeFile(fresh, '', { mode: 0o600 });
  await exec('genisoimage', ['-quiet', '-volid', 'cidata', '-joliet', '-rational-rock', '-output', fresh, tree]);
  await rm(tree, { recursive: true });
  await rename(fresh, iso);
}

function seedFiles(content: SeedContent): Record<string, string> {
  const { sandboxId, hostKey, userCaKeys } = content;
  return {
    'meta-data': stringify({ 'instance-id': sandboxId, 'local-hostname': sandboxId }),
    'user-data': cloudConfig(content),
    'mayfly/ssh_host_ed25519_key': hostKey.privateKey,
    'mayfly/ssh_host_ed25519_key.pub': `${hostKey.publicKey}\n`,
    'mayfly/user_ca.pub': lines(userCaKeys),
    'mayfly/principals': lines([sandboxId]),
    'mayfly/revoked_keys': '',
  };
}
