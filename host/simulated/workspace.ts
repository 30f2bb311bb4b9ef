import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { macAddress } from '../../model/ids.ts';
import { syncDirectory } from '../atomic-file.ts';
import { entriesOf, isNotFound } from '../directory.ts';
import { ExecError, exec } from '../exec.ts';
import type { Clone, CloneRequest } from '../hypervisor.ts';
import { type KeyPair, makeKeyPair } from '../ssh/key-pair.ts';
import type { DomainPaths } from './domain.ts';
import { GUEST_USER } from './image.ts';

const CLONE_FILE = 'clone.json';
const CloneFile = z.strictObject({ hostKey: z.string(), macAddress: z.string(), user: z.string() });

const SSHD_CONFIG = `Include /etc/ssh/sshd_config.d/*.conf
HostKey /etc/ssh/ssh_host_ed25519_key
TrustedUserCAKeys /etc/ssh/mayfly_user_ca.pub
AuthorizedPrincipalsFile /etc/ssh/mayfly_principals
RevokedKeys /etc/ssh/mayfly_revoked_keys
AuthorizedKeysFile none
AllowUsers ${GUEST_USER.name}
ExposeAuthInfo yes
AuthenticationMethods publickey
UsePAM no
UseDNS no
PermitRootLogin no
PidFile none
PrintMotd no
PrintLastLog no
DisableForwarding yes
MaxStartups 100
MaxSessions 64
Subsystem sftp internal-sftp
`;

export function domainPaths(workspace: string): DomainPaths {
  return { workspace, root: join(workspace, 'root') };
}

/** What the clone became when it was made; null when there is no whole workspace. */
export async function readClone(workspace: string): Promise<Clone | null> {
  try {
    return CloneFile.parse(JSON.parse(await readFile(join(workspace, CLONE_FILE), 'utf8')));
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/**
 * Copies the image's tree and seeds it: host name, host key, the CA keys to trust and the one principal to accept. The
 * workspace appears as a whole or not at all.
 * @param onCopied called between the copy and the seed
 * @throws MayflyError clone_failed
 */
export async function makeWorkspace(
  workspace: string,
  image: string,
  request: CloneRequest,
  signal: AbortSignal,
  onCopied: () => Promise<void>,
): Promise<Clone> {
  const staging = `${workspace}.new`;
  await removeTree(staging);
  await removeTree(workspace);
  await mkdir(staging, { mode: 0o700 });
  const { root } = domainPaths(staging);
  await copyTree(image, root, request.sandboxId, signal);
  await onCopied();
  signal.throwIfAborted();

  const pair = makeKeyPair(request.sandboxId);
  await seed(root, request, pair);
  const clone = { hostKey: pair.publicKey, macAddress: macAddress(request.sandboxId), user: GUEST_USER.name };
  await writeFile(join(staging, CLONE_FILE), `${JSON.stringify(clone)}\n`, { mode: 0o600 });
  await rename(staging, workspace);
  await syncDirectory(join(workspace, '..'));
  return clone;
}

/** Removes a workspace, whole or half made; succeeds when there is none. */
export async function removeWorkspaceTrees(workspace: string): Promise<void> {
  // First what makes it count as whole, so that a crash in the middle leaves nothing that looks usable.
  await rm(join(workspace, CLONE_FILE), { force: true });
  await removeTree(workspace);
  await removeTree(`${workspace}.new`);
}

async function seed(root: string, request: CloneRequest, pair: KeyPair): Promise<void> {
  const etc = join(root, 'etc');
  const files: [string, string, number][] = [
    ['hostname', `${request.sandboxId}\n`, 0o644],
    ['hosts', `127.0.0.1 localhost ${request.sandboxId}\n`, 0o644],
    ['ssh/sshd_config', SSHD_CONFIG, 0o644],
    ['ssh/ssh_host_ed25519_key', pair.privateKey, 0o600],
    ['ssh/ssh_host_ed25519_key.pub', `${pair.publicKey}\n`, 0o644],
    ['ssh/mayfly_user_ca.pub', request.userCaKeys.map((key) => `${key.trim()}\n`).join(''), 0o644],
    ['ssh/mayfly_principals', `${request.sandboxId}\n`, 0o644],
    ['ssh/mayfly_revoked_keys', '', 0o644],
  ];
  for (const [name, text, mode] of files) {
    await writeFile(join(etc, name), text, { mode });
    await chmod(join(etc, name), mode);
  }
}

async function copyTree(from: string, to: string, sandboxId: string, signal: AbortSignal): Promise<void> {
  try {
    await exec('cp', ['--archive', '--reflink=auto', '--', from, to], { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ExecError)) throw error;
    throw new MayflyError('clone_failed', `The image could not be copied for ${sandboxId}: ${error.message}`, {
      cause: error,
    });
  }
}

/**
 * `rm -rf`, but never through a mount: a domain's bind of the host's /usr and /dev lies in a mount namespace of its
 * own; would one ever be visible here, removing it would remove the host's files.
 */
async function removeTree(path: string): Promise<void> {
  if ((await entriesOf(path)) === null) return;
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').map((line) => line.split(' ')[4] ?? '');
  const inside = mounts.find((mount) => mount === path || mount.startsWith(`${path}/`));
  if (inside) {
    throw new MayflyError(
      'cleanup_incomplete',
      `${path} is not removed, because ${inside} is mounted there. Unmount it.`,
    );
  }
  await exec('rm', ['-rf', '--one-file-system', '--', path]);
}
