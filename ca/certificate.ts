import { createHash } from 'node:crypto';
import { MayflyError } from '../model/errors.ts';
import { isSourceId } from '../model/ids.ts';
import { LIMITS } from '../model/limits.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { isSandboxId } from '../model/sandbox-id.ts';

export interface CertificateRequest {
  /** Only principal: the id of a sandbox, or of a source that is inspected. */
  sandboxId: string;
  /** OpenSSH public key line. */
  publicKey: string;
  actor: Actor;
  /** Name of the golden VM that the sandbox was cloned from. */
  source: string;
  /** Unique serial, assigned by the store. */
  serial: bigint;
  /** `@default` 1800 */
  ttlSeconds?: number;
}

/**
 * Time before its issue from which a certificate is valid, s, since guests resume with a clock that is behind: the
 * design's minute, and another for one that is 90 s behind (caa-012). Its end counts from now.
 */
export const BACKDATE_SECONDS = 120;
/** Limit of the API, which counts UTF-16 units, so that nothing it accepted fails here. */
const MAX_FIELD_CHARACTERS = Math.max(LIMITS.agentId.maxLength, LIMITS.sourceName.maxLength);
/**
 * Longest encoded field, characters. A longer one is cut and ends in a digest of the whole, since sshd cuts its log
 * lines at 1024 bytes (MSGBUFSIZ in OpenSSH's log.c), of which 250 are not ours.
 */
const MAX_ENCODED = 128;
const DIGEST_CHARACTERS = 16;
const PLAIN = /^[A-Za-z0-9._@+-]$/;
const MAX_SERIAL = 2n ** 64n - 1n;

/**
 * Returns the identity string that sshd logs at every login: `agent=<agent or -> key=<API key id> source=<source>
 * sandbox=<id> certificate=<serial>`; that of a certificate for a source has `sourceId=<id>` instead of `sandbox=<id>`.
 *
 * Fields are percent-encoded (RFC 3986 §2.1), all but `A-Z a-z 0-9 . _ @ + -`: separators, line ends and control
 * characters of terminals cannot occur in one, so none can forge another. A longer one ends in `~` and a digest.
 * @throws MayflyError invalid_request when a field is empty or longer than the API accepts
 */
export function formatKeyId(request: CertificateRequest): string {
  const fields: [string, string | null][] = [
    ['agent', request.actor.agentId],
    ['key', request.actor.apiKeyId],
    ['source', request.source],
    [isSourceId(request.sandboxId) ? 'sourceId' : 'sandbox', assertPrincipal(request.sandboxId)],
    ['certificate', assertSerial(request.serial).toString()],
  ];
  return fields.map(([name, value]) => `${name}=${value === null ? '-' : encodeField(name, value)}`).join(' ');
}

/**
 * Returns the only principal of a certificate: the id of the sandbox or source. @throws MayflyError invalid_id on
 * anything else
 */
function assertPrincipal(id: string): string {
  if (isSandboxId(id) || isSourceId(id)) return id;
  throw new MayflyError('invalid_id', 'A certificate is issued for one sandbox id or source id and for nothing else.');
}

/** @throws MayflyError invalid_request outside 60 to 3600 whole seconds */
export function assertTtl(ttlSeconds: number): number {
  const { min, max } = LIMITS.certificateSeconds;
  if (Number.isInteger(ttlSeconds) && ttlSeconds >= min && ttlSeconds <= max) return ttlSeconds;
  throw invalidRequestError('ttlSeconds', `a certificate lives ${min} to ${max} whole seconds`);
}

/** @throws MayflyError invalid_request for anything but an unsigned 64-bit number from 1 */
export function assertSerial(serial: bigint): bigint {
  if (serial >= 1n && serial <= MAX_SERIAL) return serial;
  throw invalidRequestError('serial', 'a serial is a number from 1 to 2^64 − 1');
}

function encodeField(name: string, value: string): string {
  if (value === '' || value.length > MAX_FIELD_CHARACTERS) {
    throw invalidRequestError(name, `the ${name} of an identity has 1 to ${MAX_FIELD_CHARACTERS} characters`);
  }
  if (value === '-') return '%2D'; // alone it marks an absent value
  const text = Array.from(Buffer.from(value), (byte) => {
    const char = String.fromCharCode(byte);
    return PLAIN.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
  if (text.length <= MAX_ENCODED) return text;
  const digest = createHash('sha256').update(value).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${text.slice(0, MAX_ENCODED - 1 - DIGEST_CHARACTERS)}~${digest}`;
}

function invalidRequestError(field: string, problem: string): MayflyError {
  return new MayflyError('invalid_request', `The certificate cannot be issued: ${problem}.`, {
    fields: [{ field, problem }],
  });
}
