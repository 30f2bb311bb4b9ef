import { createHmac, timingSafeEqual } from 'node:crypto';
import { isHostId } from '../../model/ids.ts';

/** Client that the proxy admits. The control worker is not one: it connects to Temporal itself. */
export type Caller = { process: 'api' } | { process: 'host'; hostId: string };

const HOST = 'host-';

/** Returns the caller of a certificate's common name: `api`, or `host-<host id>`; null when it is unknown. */
export function parseCaller(commonName: unknown): Caller | null {
  if (commonName === 'api') return { process: 'api' };
  if (typeof commonName !== 'string' || !commonName.startsWith(HOST)) return null;
  const hostId = commonName.slice(HOST.length);
  return isHostId(hostId) ? { process: 'host', hostId } : null;
}

export function nameOf(caller: Caller): string {
  return caller.process === 'api' ? 'api' : `${HOST}${caller.hostId}`;
}

/** HMAC-SHA256. Bytes. */
const SEAL_BYTES = 32;

/**
 * Binds a task token to the caller that received it. Temporal's own token consists of ids that anyone can compose, and
 * lets its holder answer for the worker.
 */
export class TaskTokens {
  /** @param key 256 random bits, unknown to callers */
  constructor(private readonly key: Uint8Array) {}

  sealed(token: Uint8Array, caller: Caller): Uint8Array {
    return Buffer.concat([token, this.#seal(token, caller)]);
  }

  /** Returns Temporal's token; null when another caller received it. */
  opened(sealed: Uint8Array, caller: Caller): Uint8Array | null {
    if (sealed.length < SEAL_BYTES) return null;
    const token = sealed.subarray(0, -SEAL_BYTES);
    return timingSafeEqual(sealed.subarray(-SEAL_BYTES), this.#seal(token, caller)) ? token : null;
  }

  #seal(token: Uint8Array, caller: Caller): Buffer {
    return createHmac('sha256', this.key)
      .update(`mayfly task token\n${nameOf(caller)}\n`)
      .update(token)
      .digest();
  }
}
