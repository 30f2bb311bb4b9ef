import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ParsedKey, PublicKeyAuthMethod } from 'ssh2';
import { MayflyError } from '../../model/errors.ts';
import type { SshEndpoint } from '../../model/sandbox.ts';
import { CERTIFICATE_FILE, KEY_FILE } from '../credentials.ts';
import { CertClient, keyWithCertificate } from './cert-client.ts';

/** A guest on the same machine answers within this time, or is not up yet. Milliseconds. */
const CONNECT_TIMEOUT_MS = 200;
/** From the TCP connection to the accepted login; generous, a booting guest is busy. Milliseconds. */
const LOGIN_TIMEOUT_MS = 10_000;
const PAUSE_MS = 25;
/** sshd may accept connections before the guest has written its principals; after this a "no" is a "no". Milliseconds. */
const REJECTION_PATIENCE_MS = 5_000;

export interface VerifyRequest {
  endpoint: SshEndpoint;
  /** Folder with the key pair and its certificate, see {@link Credentials}. */
  credentialsDir: string;
  signal: AbortSignal;
  /** Called before every try with what was seen last. */
  alive(detail: string): void;
}

/**
 * Proves that the sandbox's own sshd accepts the sandbox's own certificate: resolves when it does. Tries again until
 * the signal is aborted while the guest is not up yet.
 * @throws MayflyError host_key_mismatch at once; ssh_timeout when the login keeps being rejected; the signal's reason
 */
export async function verifySsh(request: VerifyRequest): Promise<void> {
  const { endpoint, signal } = request;
  signal.throwIfAborted();
  const key = keyWithCertificate(
    await readFile(join(request.credentialsDir, KEY_FILE)),
    await readFile(join(request.credentialsDir, CERTIFICATE_FILE), 'utf8'),
  );
  let firstRejection: number | null = null;
  let seen = 'no answer yet';
  for (let attempt = 1; ; attempt++) {
    request.alive(`try ${attempt} of ${endpoint.address}:${endpoint.port}: ${seen}`);
    const failure = await tryLogin(endpoint, key, signal);
    signal.throwIfAborted();
    if (failure === null) return;
    if (failure.kind === 'other-host') throw hostKeyMismatch(endpoint);
    if (failure.kind === 'rejected') {
      firstRejection ??= Date.now();
      if (Date.now() - firstRejection >= REJECTION_PATIENCE_MS) throw rejected(endpoint, failure.reason);
    }
    seen = failure.reason;
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

interface LoginFailure {
  /** `other-host`: its host key is not the pinned one; `rejected`: sshd said no; `transient`: anything else. */
  kind: 'other-host' | 'rejected' | 'transient';
  reason: string;
}

async function tryLogin(endpoint: SshEndpoint, key: ParsedKey, signal: AbortSignal): Promise<LoginFailure | null> {
  const socket = connect({ host: endpoint.address, port: endpoint.port, noDelay: true });
  // A socket that fails after its promise is settled has nobody else to tell.
  socket.on('error', () => {});
  const onAbort = () => socket.destroy(new Error('aborted'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await connected(socket);
    return await login(socket, endpoint, key);
  } catch (error) {
    return { kind: 'transient', reason: error instanceof Error ? error.message : String(error) };
  } finally {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
  }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => {
      socket.destroy(new Error(`no TCP connection within ${CONNECT_TIMEOUT_MS} ms`));
    });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve();
    });
  });
}

function login(socket: Socket, endpoint: SshEndpoint, key: ParsedKey): Promise<LoginFailure | null> {
  const [keyType = '', keyBlob = ''] = endpoint.hostKey.trim().split(/\s+/);
  const pinned = Buffer.from(keyBlob, 'base64');
  const method: PublicKeyAuthMethod = { type: 'publickey', username: endpoint.user, key };
  const client = new CertClient();
  return new Promise<LoginFailure | null>((resolve) => {
    let sameHost: boolean | null = null;
    client.on('ready', () => resolve(null));
    client.on('error', (error) => {
      const rejectedLogin = error.level === 'client-authentication';
      const kind = sameHost === false ? 'other-host' : rejectedLogin ? 'rejected' : 'transient';
      resolve({ kind, reason: error.message });
    });
    client.on('close', () => resolve({ kind: 'transient', reason: 'the connection was closed during the login' }));
    client.connect({
      sock: socket,
      username: endpoint.user,
      readyTimeout: LOGIN_TIMEOUT_MS,
      hostVerifier: (offered: Buffer) => {
        sameHost = keyType === 'ssh-ed25519' && offered.equals(pinned);
        return sameHost;
      },
      algorithms: { serverHostKey: ['ssh-ed25519'] },
      authHandler: [method],
    });
  }).finally(() => client.end());
}

function hostKeyMismatch(endpoint: SshEndpoint): MayflyError {
  return new MayflyError(
    'host_key_mismatch',
    `Whoever answers on ${endpoint.address}:${endpoint.port} has another host key than the one seeded into the sandbox.`,
  );
}

function rejected(endpoint: SshEndpoint, reason: string): MayflyError {
  return new MayflyError(
    'ssh_timeout',
    `The sshd on ${endpoint.address}:${endpoint.port} has the right host key but has rejected the certificate of ` +
      `${endpoint.user} for ${REJECTION_PATIENCE_MS / 1000} s: ${reason}`,
  );
}
