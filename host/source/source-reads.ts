import { setTimeout as sleep } from 'node:timers/promises';
import type { ParsedKey } from 'ssh2';
import { MayflyError } from '../../model/errors.ts';
import type { SourceSshd } from '../../model/snapshots/source-access.ts';
import { SOURCE_USER } from '../../model/snapshots/source-access.ts';
import type { Hypervisor } from '../hypervisor.ts';
import type { CertClient } from '../ssh/cert-client.ts';
import type { Credentials } from '../ssh/credentials.ts';
import { LoginFailure, tryLogin } from '../ssh/login.ts';
import { askGate, type GateAnswer, type GateRequest } from './gate-client.ts';

interface ReadTarget {
  id: string;
  name: string;
  sshd: Pick<SourceSshd, 'port' | 'hostKey'>;
  /** Requests a certificate for this host's key to the source. @returns one OpenSSH certificate line */
  certify: (publicKey: string) => Promise<string>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Under emulation a login takes 2 s. */
const LOGIN_TIMEOUT_MS = 20_000;
/** Idle time after which a connection is closed, ms. */
const IDLE_MS = 60_000;
/** Attempts to connect: sshd does not listen for a moment when it reloads its settings. */
const ATTEMPTS = 5;
const PAUSE_MS = 300;
const SSH_PORT = 22;

interface Kept {
  client: CertClient;
  /** Number of running reads. */
  reads: number;
  idle: NodeJS.Timeout | null;
}

/**
 * Connections to the gates of this machine's sources: SSH as the read-only user, with a certificate for one source, to
 * the pinned host key. One connection each, kept while it is used.
 */
export class SourceReads {
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly deps: { hypervisor: Pick<Hypervisor, 'runningSource'>; credentials: Credentials }) {}

  /**
   * Sends one request to the gate. Never repeats a request once sent.
   * @throws MayflyError source_not_running, source_not_prepared, host_key_mismatch, guest_unreachable, guest_failed
   */
  async ask(target: ReadTarget, request: GateRequest, signal: AbortSignal): Promise<GateAnswer> {
    const kept = await this.#connection(target, signal);
    kept.reads++;
    if (kept.idle) clearTimeout(kept.idle);
    try {
      return await askGate(kept.client, request, signal);
    } finally {
      kept.reads--;
      if (kept.reads === 0) kept.idle = setTimeout(() => this.#letGo(target.id, kept), IDLE_MS).unref();
    }
  }

  close(id: string): void {
    const kept = this.#kept.get(id);
    if (kept) this.#letGo(id, kept);
  }

  closeAll(): void {
    for (const id of this.#kept.keys()) this.close(id);
  }

  /** Closes a connection, so that no later caller gets it. */
  #letGo(id: string, kept: Kept): void {
    if (this.#kept.get(id) === kept) this.#kept.delete(id);
    if (kept.idle) clearTimeout(kept.idle);
    kept.client.destroy();
  }

  async #connection(target: ReadTarget, signal: AbortSignal): Promise<Kept> {
    const present = this.#kept.get(target.id);
    if (present) return present;
    const client = await this.#connect(target, signal);
    const other = this.#kept.get(target.id);
    if (other) {
      client.end(); // two concurrent reads: one connection is enough
      return other;
    }
    const kept: Kept = { client, reads: 0, idle: null };
    this.#kept.set(target.id, kept);
    client.on('error', () => {}); // 'close' follows
    client.on('close', () => {
      if (this.#kept.get(target.id) === kept) this.#kept.delete(target.id);
    });
    return kept;
  }

  async #connect(target: ReadTarget, signal: AbortSignal): Promise<CertClient> {
    const source = await this.deps.hypervisor.runningSource(target.name);
    const key = await this.#currentKey(target);
    let failure: LoginFailure | null = null;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const addresses = await source.addresses();
      for (const { address, port } of addresses) {
        const endpoint = {
          address,
          port: port ?? target.sshd.port ?? SSH_PORT,
          user: SOURCE_USER,
          hostKey: target.sshd.hostKey,
        };
        const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, loginTimeoutMs: LOGIN_TIMEOUT_MS };
        const tried = await tryLogin({ endpoint, key, signal, ...limits });
        if (!(tried instanceof LoginFailure)) return tried;
        failure = tried;
      }
      if (failure && !failure.lost) break;
      await sleep(PAUSE_MS * attempt, undefined, { signal });
    }
    throw unreachable(target.name, failure);
  }

  async #currentKey({ id, certify }: ReadTarget): Promise<ParsedKey> {
    const { credentials } = this.deps;
    const { publicKey } = await credentials.makeCredentials(id);
    const key = await credentials.currentKey(id, () => certify(publicKey));
    if (key) return key;
    throw new MayflyError('source_not_prepared', `This host's key to ${id} was taken away meanwhile.`);
  }
}

function unreachable(name: string, failure: LoginFailure | null): MayflyError {
  const who = JSON.stringify(name);
  if (failure === null) {
    return new MayflyError(
      'guest_unreachable',
      `${who} runs, but neither libvirt nor its agent knows an address of it.`,
    );
  }
  if (failure.stage === 'host-key') {
    return new MayflyError(
      'host_key_mismatch',
      `Whoever answers at the address of ${who} has another host key than ${who} had when it was prepared. ` +
        'When its key was changed on purpose, prepare it again.',
      { cause: failure },
    );
  }
  if (failure.stage === 'auth' && !failure.lost) {
    const what = `The sshd of ${who} does not let ${SOURCE_USER} in any more (${failure.message})`;
    return new MayflyError('source_not_prepared', `${what}: its settings or the CA have changed. Prepare it again.`, {
      cause: failure,
    });
  }
  return new MayflyError('guest_unreachable', `${who} runs, but its sshd is not reached: ${failure.message}`, {
    cause: failure,
  });
}
