import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { pause } from '../os/abort.ts';
import { type CertClient, keyWithCertificate } from './cert-client.ts';
import { CERTIFICATE_FILE, KEY_FILE } from './credentials.ts';
import { LoginFailure, tryLogin } from './login.ts';

/** Timeout of a guest on the same machine; a later answer means that it is not up yet. Milliseconds. */
const CONNECT_TIMEOUT_MS = 200;
/** Timeout from the TCP connection to the accepted login, ms; generous, since a booting guest is busy. */
const LOGIN_TIMEOUT_MS = 10_000;
const PAUSE_MS = 25;
/** Period of retried rejections, ms: sshd may accept connections before the guest has written its principals. */
const REJECTED_FOR_MS = 5_000;

export interface VerifyRequest {
  endpoint: SshEndpoint;
  /** Folder with the key pair and its certificate, see {@link Credentials}. */
  credentialsDir: string;
  signal: AbortSignal;
  /** Heartbeat before every attempt, with the last failure. */
  alive(detail: string): void;
}

/**
 * Retries while the guest is not up. @returns the connection, which the caller closes @throws MayflyError
 * host_key_mismatch at once; ssh_timeout when the login keeps being rejected; the signal's reason
 */
export async function verifySsh(request: VerifyRequest): Promise<CertClient> {
  const { endpoint, signal } = request;
  signal.throwIfAborted();
  const key = keyWithCertificate(
    await readFile(join(request.credentialsDir, KEY_FILE)),
    await readFile(join(request.credentialsDir, CERTIFICATE_FILE), 'utf8'),
  );
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, loginTimeoutMs: LOGIN_TIMEOUT_MS };
  let firstRejection: number | null = null;
  let seen = 'no answer yet';
  for (let attempt = 1; ; attempt++) {
    request.alive(`try ${attempt} of ${endpoint.address}:${endpoint.port}: ${seen}`);
    const outcome = await tryLogin({ endpoint, key, signal, ...limits });
    if (!(outcome instanceof LoginFailure)) return outcome;
    if (outcome.stage === 'host-key') throw hostKeyMismatch(endpoint);
    if (outcome.stage === 'auth' && !outcome.lost) {
      firstRejection ??= Date.now();
      if (Date.now() - firstRejection >= REJECTED_FOR_MS) throw loginRejected(endpoint, outcome.message);
    }
    seen = outcome.message;
    await pause(PAUSE_MS, signal);
  }
}

function hostKeyMismatch(endpoint: SshEndpoint): MayflyError {
  return new MayflyError(
    'host_key_mismatch',
    `Whoever answers on ${endpoint.address}:${endpoint.port} has another host key than the one seeded into the sandbox.`,
  );
}

function loginRejected(endpoint: SshEndpoint, reason: string): MayflyError {
  return new MayflyError(
    'ssh_timeout',
    `The sshd on ${endpoint.address}:${endpoint.port} has the right host key but has rejected the certificate of ` +
      `${endpoint.user} for ${REJECTED_FOR_MS / 1000} s: ${reason}`,
  );
}
