import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { isSandboxId } from './sandbox-id.ts';

export { isSandboxId };

/**
 * Alphabet of all ids. A sandbox is named before anything of it exists, and every other name is a pure function of its
 * id: so steps can be retried, compensations find their objects, and sweepers attribute residue without stored handles.
 */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
/** Prefixes of ids by kind. Names may not start with one, so a name is never taken for an id. */
const PREFIXES = {
  sandbox: 'sbx',
  source: 'src',
  snapshot: 'snp',
  capture: 'cap',
  operation: 'opn',
  command: 'cmd',
  image: 'img',
  playbook: 'pbk',
  run: 'run',
  hook: 'hok',
  endpoint: 'whe',
  delivery: 'dlv',
  bulk: 'blk',
  waitpoint: 'wp',
  approval: 'apr',
} as const;
type Kind = keyof typeof PREFIXES;
const INSTALLATION_ID = /^ins-[0-9a-hjkmnp-tv-z]{24}$/;
const HOST_ID = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const patterns = Object.entries(PREFIXES).map(([kind, prefix]) => [kind, `^${prefix}-[0-9a-hjkmnp-tv-z]{16}$`]);
/** Patterns of ids for JSON Schema. */
export const ID_PATTERNS: Readonly<Record<Kind | 'host', string>> = {
  ...(Object.fromEntries(patterns) as Record<Kind, string>),
  host: HOST_ID.source,
};

const SANDBOX_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LIKE_AN_ID = new RegExp(`^(?:${[...Object.values(PREFIXES), 'ins'].join('|')})-`);

/** Grammar of sandbox names: must match `is` and must not match `isNot`. */
export const SANDBOX_NAME_PATTERNS = { is: SANDBOX_NAME.source, isNot: LIKE_AN_ID.source } as const;

/** Namespace of Mayfly's UUIDv5 values (RFC 9562 §5.5): a random UUID, fixed forever. */
const UUID_NAMESPACE = hexToBytes('8f1d3c5a6b7e4f20918273645566aabb');

/** Bytes of the digest in an installation id: 120 bits, 24 characters. */
const INSTALLATION_BYTES = 15;

/** Random bytes in one id: 80 bits, 16 characters of Crockford base32. */
export const ID_BYTES = 10;

/** Makes an id from 80 random bits. @throws RangeError when not given exactly {@link ID_BYTES} bytes */
export const sandboxIdFrom = idFactory('sandbox');
export const commandIdFrom = idFactory('command');
export const snapshotIdFrom = idFactory('snapshot');
export const captureIdFrom = idFactory('capture');
export const imageIdFrom = idFactory('image');
export const playbookIdFrom = idFactory('playbook');
export const runIdFrom = idFactory('run');
export const hookIdFrom = idFactory('hook');
export const endpointIdFrom = idFactory('endpoint');
export const bulkIdFrom = idFactory('bulk');
/** Makes the id of a restore, a pause or a resume. */
export const operationIdFrom = idFactory('operation');

export const isSourceId = idTester('source');
export const isApprovalId = idTester('approval');
export const isCommandId = idTester('command');
export const isSnapshotId = idTester('snapshot');
export const isCaptureId = idTester('capture');
export const isImageId = idTester('image');
export const isPlaybookId = idTester('playbook');
export const isRunId = idTester('run');
export const isHookId = idTester('hook');
export const isEndpointId = idTester('endpoint');
export const isDeliveryId = idTester('delivery');
export const isWaitpointId = idTester('waitpoint');
export const isBulkId = idTester('bulk');
export const isOperationId = idTester('operation');

function idFactory(kind: Kind): (random: Uint8Array) => string {
  return (random) => `${PREFIXES[kind]}-${encodeCrockford(random)}`;
}

function idTester(kind: Kind): (text: string) => boolean {
  const pattern = new RegExp(ID_PATTERNS[kind]);
  return (text) => pattern.test(text);
}

/** Derives id bytes from a text. Deterministic. */
export function deriveIdBytes(text: string): Uint8Array {
  return sha256(utf8ToBytes(text)).slice(0, ID_BYTES);
}

/** Derives the id of a run's waitpoint from its name. */
export function deriveWaitpointId(runId: string, name: string): string {
  return `wp-${encodeCrockford(deriveIdBytes(`${runId}/waitpoint/${name}`))}`;
}

/** Derives the id of a delivery from its event and endpoint. Deterministic. */
export function deriveDeliveryId(eventId: string, endpointId: string): string {
  return `dlv-${encodeCrockford(deriveIdBytes(`${endpointId}/delivery/${eventId}`))}`;
}

/**
 * Derives an installation id from the public key with which its host signs requests. So no other host can sign for that
 * id, and keys need no configuration.
 */
export function deriveInstallationId(publicKey: string): string {
  const digest = sha256(utf8ToBytes(`mayfly-installation/${publicKey}`)).slice(0, INSTALLATION_BYTES);
  return `ins-${encodeCrockford(digest, INSTALLATION_BYTES)}`;
}

/**
 * Derives the id of a source for Mayfly's own use (audit, certificates, keys). Unlike its libvirt name it is unique
 * across hosts, and safe in paths and certificates. Deterministic.
 */
export function deriveSourceId(hostId: string, name: string): string {
  return `src-${encodeCrockford(deriveIdBytes(`${hostId}/source/${name}`))}`;
}

/** Derives the id of an approval from the caller's API key and Idempotency-Key. */
export function deriveApprovalId(apiKeyId: string, idempotencyKey: string): string {
  return `apr-${encodeCrockford(deriveIdBytes(`${apiKeyId}/approval/${idempotencyKey}`))}`;
}

/**
 * Encodes bytes in Crockford base32: 8 characters for each 5 bytes.
 * @param bytes a multiple of 5
 * @throws RangeError
 */
function encodeCrockford(random: Uint8Array, bytes = ID_BYTES): string {
  if (random.length !== bytes) throw new RangeError(`an id needs ${bytes} random bytes`);
  let value = BigInt(`0x${bytesToHex(random)}`);
  let text = '';
  for (let i = 0; i < (bytes * 8) / 5; i++) {
    text = CROCKFORD.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return text;
}

/** True when `text` can name a sandbox: a DNS label (RFC 1123 §2.1) that starts with a letter, without an id prefix. */
export function isSandboxName(text: string): boolean {
  return SANDBOX_NAME.test(text) && !LIKE_AN_ID.test(text);
}

/** True for ids that have an audit chain: sandbox, source, approval, image build or run. */
export function isAuditSubject(text: string): boolean {
  return isSandboxId(text) || isSourceId(text) || isApprovalId(text) || isImageId(text) || isRunId(text);
}

export function isInstallationId(text: string): boolean {
  return INSTALLATION_ID.test(text);
}

/** True when `text` can name a host: 1 to 40 of `a-z0-9-`, as in a DNS label. */
export function isHostId(text: string): boolean {
  return HOST_ID.test(text);
}

/** Derives the libvirt UUID of a sandbox's domain: UUIDv5 of its id. */
export function domainUuid(sandboxId: string): string {
  const bytes = sha1(concatBytes(UUID_NAMESPACE, utf8ToBytes(sandboxId))).slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Derives the MAC address of a sandbox's n-th network interface: QEMU's prefix 52:54:00 and 24 bits of SHA-256. 24 bits
 * can collide, so the host checks the address against its existing interfaces.
 */
export function macAddress(sandboxId: string, nic = 0): string {
  const digest = sha256(utf8ToBytes(`${sandboxId}/nic/${nic}`));
  const tail = Array.from(digest.slice(0, 3), (byte) => byte.toString(16).padStart(2, '0'));
  return ['52', '54', '00', ...tail].join(':');
}
