import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent } from '../../host/os/absent.ts';
import type { Config, TemporalTls } from '../config/config.ts';
import { type Check, note, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/** Entries of the state folder that other users of the machine must not read. */
const PRIVATE_FOLDERS = [
  'store',
  'temporal',
  'control',
  'credentials',
  'images',
  'sandboxes',
  'snapshots',
  'captures',
  'libvirt',
];

/** gRPC status code. */
const PERMISSION_DENIED = 7;

/** Checks that users without a key are locked out of Temporal, the store and the disks; reports only. */
export function localUsersProbe(surroundings: ProbeContext): Probe {
  const { config, temporalAddress } = surroundings;
  return {
    name: 'other users',
    remedy: `ls -l ${config.stateDir}`,
    look: async () => [
      ...(temporalAddress === undefined ? [] : [await temporalCheck(config, temporalAddress)]),
      ...(config.temporalTls?.cert ? await rightsChecks(surroundings, config.temporalTls.cert) : []),
      ...(config.mongodbUri === undefined ? [] : [storeCheck(config.mongodbUri)]),
      await folderCheck(config.stateDir),
    ],
  };
}

async function temporalCheck({ temporalTls, stateDir }: Config, address: string): Promise<Check> {
  if (temporalTls) return certificateCheck(temporalTls, address);
  const { isGuarded } = await import('../servers/loopback-guard.ts');
  const uids = new Set([process.geteuid?.() ?? 0, (await stat(stateDir)).uid]);
  if (await isGuarded(address.slice(0, address.lastIndexOf(':')), [...uids])) {
    return passed('Temporal is closed', 'only root and the user of `mayfly up` reach it');
  }
  return note(
    'Temporal is closed',
    `${address} asks nobody who they are: who reaches it is an admin`,
    'Start `mayfly up` as root where nftables is. A server of your own: give it mTLS, as docs/deploy.md says, and set TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY.',
  );
}

/** Connects without a certificate: success with one proves nothing about others. */
async function certificateCheck(files: TemporalTls, address: string): Promise<Check> {
  const { wantsCertificate } = await import('../servers/temporal-tls.ts');
  const remedy =
    'Have its frontend require a certificate (requireClientAuth), and set TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY to ours.';
  try {
    if (await wantsCertificate(address, files)) {
      return passed('Temporal is closed', 'it lets in only who has a certificate of its CA');
    }
  } catch (error) {
    return note(
      'Temporal is closed',
      `could not look: ${error instanceof Error ? error.message : String(error)}`,
      remedy,
    );
  }
  return note(
    'Temporal is closed',
    `${address} speaks TLS, and asks for no certificate: who reaches it is an admin`,
    remedy,
  );
}

/**
 * Checks that Mayfly's certificate opens the proxy, which restricts requests. The control worker and the proxy have
 * full access.
 */
async function rightsChecks(surroundings: ProbeContext, cert: string): Promise<Check[]> {
  const remedy =
    'Run `mayfly serve proxy`, have TEMPORAL_ADDRESS name it, and take a certificate of its CA: docs/deploy.md, Temporal.';
  const open = (found: string) => [note('Temporal by the proxy', found, remedy)];
  try {
    const { subject } = new X509Certificate(await readFile(cert));
    if (subject === 'CN=control' || subject === 'CN=proxy') return [];
    const { workflowService } = await surroundings.temporal();
    await workflowService.listWorkflowExecutions({ namespace: surroundings.config.temporalNamespace, pageSize: 1 });
    return open(`${cert} (${subject}) may do everything in Temporal: who takes this process over may, too`);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === PERMISSION_DENIED) {
      return [passed('Temporal by the proxy', 'our certificate opens what is ours to ask for')];
    }
    return open(`could not look: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Checks only that there is a user and password; a socket is protected by its folder. */
export function storeCheck(uri: string): Check {
  const [, user, place = ''] = /^mongodb(?:\+srv)?:\/\/(?:([^@/]*)@)?([^/]*)/.exec(uri) ?? [];
  if (user) return passed('store is closed', 'it is asked with a user and a password');
  if (place.toLowerCase().includes('%2f')) return passed('store is closed', 'it listens on a Unix socket');
  return note(
    'store is closed',
    'MONGODB_URI names no user: who reaches the store can make themselves an admin key',
    'Give MongoDB users, as docs/deploy.md says, and name one in MONGODB_URI.',
  );
}

async function folderCheck(stateDir: string): Promise<Check> {
  const open: string[] = [];
  for (const name of PRIVATE_FOLDERS) {
    const about = await orAbsent(stat(join(stateDir, name)));
    if (about && (about.mode & 0o007) !== 0) open.push(name);
  }
  if (open.length === 0) return passed('files are closed', `no other user enters the folders of ${stateDir}`);
  return note(
    'files are closed',
    `other users enter ${open.join(', ')} in ${stateDir}`,
    `chmod o-rwx ${open.map((name) => join(stateDir, name)).join(' ')}; a host worker does it when it starts.`,
  );
}
