import { MayflyError } from '../model/errors.ts';
import { isSandboxId } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import type { Actor } from '../model/sandbox.ts';

/** What a certificate shall say. */
export interface CertificateRequest {
  sandboxId: string;
  /** One OpenSSH public key line. */
  publicKey: string;
  actor: Actor;
  /** Name of the golden VM that the sandbox was cloned from. */
  source: string;
  /** Unique for ever: given by the store. */
  serial: bigint;
  /** `@default` 1800 */
  ttlSeconds?: number;
}

/** Guests resume with a clock that is behind: a certificate is valid from this long before it is issued. Seconds. */
export const BACKDATE_SECONDS = 60;
/** OpenSSH takes longer ones; sshd logs and our audit do not need them. Characters. */
const MAX_KEY_ID_LENGTH = 255;
/** No space, comma, colon, equals sign, control character or anything outside ASCII: what separates fields cannot be in one. */
const FIELD = /^[A-Za-z0-9][A-Za-z0-9._@+-]*$/;
const MAX_SERIAL = 2n ** 64n - 1n;

/**
 * The identity string that sshd logs at every login:
 * `agent=<agent or -> key=<API key id> source=<source> sandbox=<id> certificate=<serial>`.
 * @throws MayflyError invalid_request when a field could forge another one, or the whole is too long
 */
export function keyIdOf(request: CertificateRequest): string {
  const fields: [string, string | null][] = [
    ['agent', request.actor.agentId],
    ['key', request.actor.apiKeyId],
    ['source', request.source],
    ['sandbox', checkedPrincipal(request.sandboxId)],
    ['certificate', checkedSerial(request.serial).toString()],
  ];
  const keyId = fields.map(([name, value]) => `${name}=${value === null ? '-' : checkedField(name, value)}`).join(' ');
  if (keyId.length > MAX_KEY_ID_LENGTH) {
    throw invalid(
      'actor',
      `agent, key and source together make the identity longer than ${MAX_KEY_ID_LENGTH} characters`,
    );
  }
  return keyId;
}

/** The only principal of a sandbox's certificate: its id. @throws MayflyError invalid_id on anything else */
export function checkedPrincipal(sandboxId: string): string {
  if (isSandboxId(sandboxId)) return sandboxId;
  throw new MayflyError('invalid_id', 'A certificate is issued for one sandbox id and for nothing else.');
}

/** @throws MayflyError invalid_request outside 60 to 3600 whole seconds */
export function checkedTtl(ttlSeconds: number): number {
  const { min, max } = LIMITS.certificateSeconds;
  if (Number.isInteger(ttlSeconds) && ttlSeconds >= min && ttlSeconds <= max) return ttlSeconds;
  throw invalid('ttlSeconds', `a certificate lives ${min} to ${max} whole seconds`);
}

/** @throws MayflyError invalid_request when it is no unsigned 64-bit number from 1 */
export function checkedSerial(serial: bigint): bigint {
  if (serial >= 1n && serial <= MAX_SERIAL) return serial;
  throw invalid('serial', 'a serial is a number from 1 to 2^64 − 1');
}

function checkedField(name: string, value: string): string {
  if (FIELD.test(value)) return value;
  throw invalid(name, 'only letters, digits and . _ @ + - may stand in the identity of a certificate');
}

function invalid(field: string, problem: string): MayflyError {
  return new MayflyError('invalid_request', `The certificate cannot be issued: ${problem}.`, {
    fields: [{ field, problem }],
  });
}
