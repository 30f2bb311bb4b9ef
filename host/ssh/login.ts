import { connect, type Socket } from 'node:net';
import type { CipherAlgorithm, ParsedKey, PublicKeyAuthMethod } from 'ssh2';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { withAbort } from '../os/abort.ts';
import { CertClient } from './cert-client.ts';

/** Stage that a login reached, in the order of the protocol. */
export type LoginStage = 'resolve' | 'tcp' | 'banner' | 'kex' | 'host-key' | 'auth';

/** Error of a failed login: nothing has run in the guest. */
export class LoginFailure extends Error {
  override readonly name = 'LoginFailure';
  constructor(
    readonly stage: LoginStage,
    /** True when the connection was lost or silent; false when the peer answered with a refusal. */
    readonly lost: boolean,
    reason: string,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}

interface LoginRequest {
  endpoint: SshEndpoint;
  key: ParsedKey;
  signal: AbortSignal;
  /** Timeout from SYN to SYN-ACK, ms. */
  connectTimeoutMs: number;
  /** Timeout from the TCP connection to the accepted login, ms. */
  loginTimeoutMs: number;
}

/** Detects a dead guest on a kept connection: no answer for 3 × 15 s. */
const KEEPALIVE = { keepaliveInterval: 15_000, keepaliveCountMax: 3 };

/**
 * Ciphers, cheapest first for an emulated guest without AES instructions: sending 16 MiB cost its processor 2.4 s with
 * AES-GCM, 3.0 s with ChaCha20 (receiving: 4.2 and 4.9 s).
 */
const CIPHERS: readonly CipherAlgorithm[] = [
  'aes128-gcm@openssh.com',
  'aes256-gcm@openssh.com',
  'aes128-ctr',
  'chacha20-poly1305@openssh.com',
];

/** Errors that a retry may cure (connect(2)); not EACCES, EPERM, EINVAL and their like. */
const LOST: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EAGAIN',
  // getaddrinfo(3)
  'EAI_AGAIN',
  'ENOTFOUND',
]);

/**
 * SSH_DISCONNECT_* codes of a temporary refusal (RFC 4253 §11.1): no service, connection lost, too many connections.
 */
const NOT_NOW: ReadonlySet<unknown> = new Set([7, 10, 12]);

/**
 * Opens an SSH connection to the machine that has the pinned host key, and to no other.
 * @throws LoginFailure with the stage reached; the signal's reason
 */
export async function login(request: LoginRequest): Promise<CertClient> {
  const { endpoint, signal } = request;
  signal.throwIfAborted();
  const socket = connect({ host: endpoint.address, port: endpoint.port, noDelay: true });
  // A socket that fails after its promise is settled has no other listener.
  socket.on('error', () => {});
  const stop = () => void socket.destroy(new Error('aborted'));
  return withAbort(signal, stop, async () => {
    await connectSocket(socket, request.connectTimeoutMs);
    return await authenticate(socket, request);
  });
}

/** Logs in as {@link login}, but returns a failure. @throws the signal's reason */
export async function tryLogin(request: LoginRequest): Promise<CertClient | LoginFailure> {
  try {
    return await login(request);
  } catch (error) {
    if (error instanceof LoginFailure) return error;
    throw error;
  }
}

function connectSocket(socket: Socket, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(timeoutMs, () => {
      reject(new LoginFailure('tcp', true, `no TCP connection within ${timeoutMs / 1000} s`));
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const stage = error.syscall === 'getaddrinfo' ? 'resolve' : 'tcp';
      reject(new LoginFailure(stage, LOST.has(error.code ?? ''), error.message, error));
    });
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve();
    });
  });
}

function authenticate(socket: Socket, { endpoint, key, loginTimeoutMs }: LoginRequest): Promise<CertClient> {
  const [keyType = '', keyBlob = ''] = endpoint.hostKey.trim().split(/\s+/);
  const pinned = Buffer.from(keyBlob, 'base64');
  const method: PublicKeyAuthMethod = { type: 'publickey', username: endpoint.user, key };
  const client = new CertClient();
  return new Promise<CertClient>((resolve, reject) => {
    let stage: LoginStage = 'banner';
    socket.once('data', () => {
      stage = 'kex';
    });
    client.on('handshake', () => {
      stage = 'auth';
    });
    client.on('ready', () => resolve(client));
    client.on('error', (error) => reject(failureOf(error, stage)));
    client.on('close', () => reject(new LoginFailure(stage, true, 'the connection was closed during the login')));
    client.connect({
      sock: socket,
      username: endpoint.user,
      readyTimeout: loginTimeoutMs,
      ...KEEPALIVE,
      hostVerifier: (offered: Buffer) => {
        const same = keyType === 'ssh-ed25519' && offered.equals(pinned);
        if (!same) stage = 'host-key';
        return same;
      },
      algorithms: { serverHostKey: ['ssh-ed25519'], cipher: [...CIPHERS] },
      authHandler: [method],
    });
  });
}

/** Classifies ssh2 1.17's error: `level` names the failed part, `code` is an errno or the reason of a DISCONNECT. */
function failureOf(error: Error & { level?: string; code?: unknown }, stage: LoginStage): LoginFailure {
  const { level, code } = error;
  const dropped = level === 'client-timeout' || level === 'client-socket' || NOT_NOW.has(code);
  // ssh2 reports a connection that ends before any banner as a protocol error.
  const silent = stage === 'banner' && level === 'protocol' && error.message === 'Connection lost before handshake';
  return new LoginFailure(stage, stage !== 'host-key' && (dropped || silent), error.message, error);
}
