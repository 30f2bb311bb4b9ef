import type { ParsedKey } from 'ssh2';
import { MayflyError } from '../../model/errors.ts';
import { macAddress } from '../../model/ids.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { DomainLocation, Hypervisor } from '../hypervisor.ts';
import { pause } from '../os/abort.ts';
import { orAbsent } from '../os/absent.ts';
import type { CertClient } from '../ssh/cert-client.ts';
import type { Credentials } from '../ssh/credentials.ts';
import { LoginFailure, tryLogin } from '../ssh/login.ts';
import type { StepContext } from '../step-context.ts';
import { canRetry, classifyFailure, getBackoff, type RetryState } from './retry.ts';

/** Identity of a sandbox, independent of its address: as it was when its create was verified. */
export interface Identity {
  user: string;
  /** Pinned host key: one OpenSSH public key line. */
  hostKey: string;
  /** True when a login has succeeded since the create. */
  verified: boolean;
}

export interface DialDeps {
  hypervisor: Pick<Hypervisor, 'whereabouts'>;
  credentials: Credentials;
  /** @throws MayflyError sandbox_not_found, sandbox_not_running, sandbox_ended */
  identify: (sandboxId: string) => Promise<Identity>;
  /** Requests a certificate for the existing key pair. @returns one OpenSSH certificate line */
  renew: (sandboxId: string) => Promise<string>;
}

export interface LoggedIn {
  client: CertClient;
  user: string;
}

/** Timeout for a guest on the same machine, possibly swapped out or still booting. Milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;
const LOGIN_TIMEOUT_MS = 20_000;
/** Attempts with a wrong host key: the address may move between lookup and login; the next lookup corrects that. */
const MAX_MISMATCHES = 4;
const MISMATCH_PAUSE_MS = 250;

/**
 * Logs in. Looks up the address on the machine before every attempt; the peer must have the pinned host key.
 * @throws MayflyError guest_unreachable with the last failure, host_key_mismatch, sandbox_ended, and as its deps do
 */
export async function dial(deps: DialDeps, sandboxId: string, context: StepContext): Promise<LoggedIn> {
  const { signal } = context;
  const identity = await deps.identify(sandboxId);
  const known: RetryState = { verified: identity.verified, reissued: false };
  let mismatches = 0;
  for (let attempt = 1; ; ) {
    signal.throwIfAborted();
    const failure = await attemptOnce(deps, sandboxId, identity, signal);
    if (!(failure instanceof LoginFailure)) return { client: failure, user: identity.user };
    const seen = `attempt ${attempt} failed (${failure.stage}): ${failure.message}`;
    context.alive(seen);
    if (failure.stage === 'host-key') {
      if (++mismatches >= MAX_MISMATCHES) throw hostKeyMismatch(sandboxId, failure);
      await pause(MISMATCH_PAUSE_MS, signal);
      continue;
    }
    if (failure.stage === 'auth' && !failure.lost && !known.reissued) {
      // The guest's clock may be ahead of ours: a new certificate rules that out.
      await deps.credentials.storeCertificate(sandboxId, await deps.renew(sandboxId));
      known.reissued = true;
      continue;
    }
    const ms = getBackoff(attempt);
    if (ms === null || !canRetry(classifyFailure(failure), known)) throw unreachable(sandboxId, attempt, failure);
    attempt++;
    await pause(ms, signal);
  }
}

async function attemptOnce(
  deps: DialDeps,
  sandboxId: string,
  { user, hostKey }: Identity,
  signal: AbortSignal,
): Promise<CertClient | LoginFailure> {
  const { domain, lease } = await deps.hypervisor.whereabouts(sandboxId);
  if (domain !== 'running') throw notRunning(sandboxId, domain);
  if (lease === null || lease.macAddress !== macAddress(sandboxId)) {
    return new LoginFailure('resolve', true, 'its machine runs, but has no address: no valid lease for its MAC');
  }
  const endpoint: SshEndpoint = { address: lease.address, port: lease.port, user, hostKey };
  const key = await currentKey(deps, sandboxId);
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, loginTimeoutMs: LOGIN_TIMEOUT_MS };
  return await tryLogin({ endpoint, key, signal, ...limits });
}

async function currentKey({ credentials, renew }: DialDeps, sandboxId: string): Promise<ParsedKey> {
  const key = await orAbsent(credentials.currentKey(sandboxId, () => renew(sandboxId)));
  if (key) return key;
  throw new MayflyError('sandbox_ended', `This host has no credentials of ${sandboxId} any more: it is being ended.`);
}

function notRunning(sandboxId: string, domain: Exclude<DomainLocation['domain'], 'running'>): MayflyError {
  switch (domain) {
    case 'absent':
      return new MayflyError('sandbox_ended', `There is no machine of ${sandboxId} on its host any more.`);
    case 'off':
      return new MayflyError('guest_unreachable', `The machine of ${sandboxId} is off: it was shut down, or crashed.`);
    case 'paused':
      return new MayflyError('guest_unreachable', `The machine of ${sandboxId} is paused: resume it.`);
    case 'hibernated':
      return new MayflyError('guest_unreachable', `The machine of ${sandboxId} is hibernated: resume it.`);
  }
}

function hostKeyMismatch(sandboxId: string, failure: LoginFailure): MayflyError {
  return new MayflyError(
    'host_key_mismatch',
    `Whoever answers at the address that is leased to ${sandboxId} has another host key than the one seeded into it.`,
    { cause: failure },
  );
}

function unreachable(sandboxId: string, attempts: number, failure: LoginFailure): MayflyError {
  const tried = attempts === 1 ? 'once' : `${attempts} times`;
  return new MayflyError(
    'guest_unreachable',
    `The machine of ${sandboxId} runs, but no login succeeded (tried ${tried}). The last ended at ${failure.stage}: ${failure.message}`,
    { cause: failure },
  );
}
