import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { macAddress } from '../../../model/ids.ts';
import type { Clone, CloneRequest } from '../../hypervisor.ts';
import { flush } from '../../os/atomic-file.ts';
import { withStepError } from '../../os/exec.ts';
import { readJson } from '../../os/json-file.ts';
import { type KeyPair, makeKeyPair } from '../../ssh/key-pair.ts';
import { firstNotFolder, removeTree } from '../disk/tree.ts';
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

/** Returns the clone's description; null without a complete workspace. */
export async function readClone(workspace: string): Promise<Clone | null> {
  return await readJson(join(workspace, CLONE_FILE), CloneFile);
}

/** Copies a tree to an unused path. @throws ExecError; the signal's reason */
export type DiskCopy = (to: string, signal: AbortSignal) => Promise<void>;

interface DiskSteps {
  copy: DiskCopy;
  /** Called between the copy and the seed. */
  onCopied: () => Promise<void>;
}

/**
 * Makes a workspace atomically, with its seed: machine id, host name, host key, the trusted CA keys and the one
 * principal. @throws MayflyError clone_failed
 */
export async function makeWorkspace(
  workspace: string,
  request: CloneRequest,
  { copy, onCopied }: DiskSteps,
  signal: AbortSignal,
): Promise<Clone> {
  const staging = `${workspace}.new`;
  await removeTree(staging);
  await removeTree(workspace);
  await mkdir(staging, { mode: 0o700 });
  const { root } = domainPaths(staging);
  await withStepError(copy(root, signal), 'clone_failed', `The disk could not be copied for ${request.sandboxId}`);
  await onCopied();
  signal.throwIfAborted();

  const pair = makeKeyPair(request.sandboxId);
  await seed(root, request, pair);
  const clone = { hostKey: pair.publicKey, macAddress: macAddress(request.sandboxId), user: GUEST_USER.name };
  await writeFile(join(staging, CLONE_FILE), `${JSON.stringify(clone)}\n`, { mode: 0o600 });
  await rename(staging, workspace);
  await flush(join(workspace, '..'));
  return clone;
}

/** Removes a workspace, complete or partial; no-op without one. */
export async function removeWorkspaceTrees(workspace: string): Promise<void> {
  // The description first, so that a crash midway leaves nothing that looks complete.
  await rm(join(workspace, CLONE_FILE), { force: true });
  await removeTree(workspace);
  await removeTree(`${workspace}.new`);
}

async function seed(root: string, request: CloneRequest, pair: KeyPair): Promise<void> {
  const etc = join(root, 'etc');
  const files: [string, string, number][] = [
    ['machine-id', `${randomBytes(16).toString('hex')}\n`, 0o444],
    ['hostname', `${request.sandboxId}\n`, 0o644],
    ['hosts', `127.0.0.1 localhost ${request.sandboxId}\n`, 0o644],
    ['ssh/sshd_config', SSHD_CONFIG, 0o644],
    ['ssh/ssh_host_ed25519_key', pair.privateKey, 0o600],
    ['ssh/ssh_host_ed25519_key.pub', `${pair.publicKey}\n`, 0o644],
    ['ssh/mayfly_user_ca.pub', request.userCaKeys.map((key) => `${key.trim()}\n`).join(''), 0o644],
    ['ssh/mayfly_principals', `${request.sandboxId}\n`, 0o644],
    ['ssh/mayfly_revoked_keys', '', 0o644],
  ];
  const wrong = await firstNotFolder(root, ['etc', 'etc/ssh']);
  if (wrong) throw new MayflyError('clone_failed', `/${wrong} on the disk to clone is not a directory.`);
  for (const [name, text, mode] of files) await writeReplacing(join(etc, name), text, mode);
}

/** Writes into a guest's tree, replacing links instead of following them. */
async function writeReplacing(path: string, text: string, mode: number): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await writeFile(path, text, { mode, flag: 'wx' });
  await chmod(path, mode);
}
