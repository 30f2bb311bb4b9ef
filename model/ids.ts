import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { isSandboxId } from './sandbox-id.ts';

export { isSandboxId };

/**
 * A sandbox is named once, before anything of it exists. Every other name is a pure function of that id, so a
 * step can be repeated, an undo can find its object, and a sweeper can tell whose residue it looks at, without
 * any stored handle.
 */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
/** What the ids of each kind begin with: no name may, or it could be taken for one. */
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
/** As they are written in a JSON Schema. */
export const ID_PATTERNS: Readonly<Record<Kind | 'host', string>> = {
  ...(Object.fromEntries(patterns) as Record<Kind, string>),
  host: HOST_ID.source,
};

const SANDBOX_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LIKE_AN_ID = new RegExp(`^(?:${[...Object.values(PREFIXES), 'ins'].join('|')})-`);

/** The grammar of a sandbox's name, in two patterns: what it is, and what it is not. */
export const SANDBOX_NAME_PATTERNS = { is: SANDBOX_NAME.source, isNot: LIKE_AN_ID.source } as const;

/** The namespace of our UUIDv5 values (RFC 9562 §5.5): a random UUID, fixed for ever. */
const UUID_NAMESPACE = hexToBytes('8f1d3c5a6b7e4f20918273645566aabb');

/** Bytes of a digest behind the id of an installation: 120 bits, 24 characters. */
const INSTALLATION_BYTES = 15;

/** Random bytes behind one id: 80 bits, 16 characters of Crockford base32. */
export const ID_BYTES = 10;

/** Each makes an id of 80 random bits. @throws RangeError when not given exactly {@link ID_BYTES} bytes */
export const sandboxIdFrom = makerOf('sandbox');
export const commandIdFrom = makerOf('command');
export const snapshotIdFrom = makerOf('snapshot');
export const captureIdFrom = makerOf('capture');
export const imageIdFrom = makerOf('image');
export const playbookIdFrom = makerOf('playbook');
export const runIdFrom = makerOf('run');
export const hookIdFrom = makerOf('hook');
export const endpointIdFrom = makerOf('endpoint');
export const bulkIdFrom = makerOf('bulk');
/** Of a restore, a pause or a resume. */
export const operationIdFrom = makerOf('operation');

export const isSourceId = testOf('source');
export const isApprovalId = testOf('approval');
export const isCommandId = testOf('command');
export const isSnapshotId = testOf('snapshot');
export const isCaptureId = testOf('capture');
export const isImageId = testOf('image');
export const isPlaybookId = testOf('playbook');
export const isRunId = testOf('run');
export const isHookId = testOf('hook');
export const isEndpointId = testOf('endpoint');
export const isDeliveryId = testOf('delivery');
export const isWaitpointId = testOf('waitpoint');
export const isBulkId = testOf('bulk');
export const isOperationId = testOf('operation');

function makerOf(kind: Kind): (random: Uint8Array) => string {
  return (random) => `${PREFIXES[kind]}-${crockford(random)}`;
}

function testOf(kind: Kind): (text: string) => boolean {
  const pattern = new RegExp(ID_PATTERNS[kind]);
  return (text) => pattern.test(text);
}

/** Returns bytes for an id that is made of a text: the same text, the same id. */
export function idBytes(text: string): Uint8Array {
  return sha256(utf8ToBytes(text)).slice(0, ID_BYTES);
}

/** The id of the waitpoint of a run that has this name. */
export function waitpointIdOf(runId: string, name: string): string {
  return `wp-${crockford(idBytes(`${runId}/waitpoint/${name}`))}`;
}

/** The id of what is sent of one event to one endpoint: the same two, the same id. */
export function deliveryIdOf(eventId: string, endpointId: string): string {
  return `dlv-${crockford(idBytes(`${endpointId}/delivery/${eventId}`))}`;
}

/**
 * The id of what one state folder holds: made of the public key with which its host signs what it asks for. So nobody
 * else can sign in its name, and nobody needs to be told which key is its own.
 */
export function installationIdOf(publicKey: string): string {
  const digest = sha256(utf8ToBytes(`mayfly-installation/${publicKey}`)).slice(0, INSTALLATION_BYTES);
  return `ins-${crockford(digest, INSTALLATION_BYTES)}`;
}

/**
 * The id of a source for what is only Mayfly's: audit, certificates, keys. Other than libvirt's name for it, it is unique
 * among hosts and safe in a path and in a certificate; the same host and name give the same id.
 */
export function sourceIdOf(hostId: string, name: string): string {
  return `src-${crockford(idBytes(`${hostId}/source/${name}`))}`;
}

/** The id of the approval that one request needs: another key of the caller's, or of another caller, is another. */
export function approvalIdOf(apiKeyId: string, idempotencyKey: string): string {
  return `apr-${crockford(idBytes(`${apiKeyId}/approval/${idempotencyKey}`))}`;
}

/** @param bytes a multiple of 5: 8 characters for each five */
function crockford(random: Uint8Array, bytes = ID_BYTES): string {
  if (random.length !== bytes) throw new RangeError(`an id needs ${bytes} random bytes`);
  let value = BigInt(`0x${bytesToHex(random)}`);
  let text = '';
  for (let i = 0; i < (bytes * 8) / 5; i++) {
    text = CROCKFORD.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return text;
}

/** Whether `text` can name a sandbox: a DNS label (RFC 1123 §2.1) that begins with a letter, and not as our ids do. */
export function isSandboxName(text: string): boolean {
  return SANDBOX_NAME.test(text) && !LIKE_AN_ID.test(text);
}

/** Whether an audit chain can be about it: a sandbox, a source that is looked at, an approval, the build of an image, or a run. */
export function isAuditSubject(text: string): boolean {
  return isSandboxId(text) || isSourceId(text) || isApprovalId(text) || isImageId(text) || isRunId(text);
}

export function isInstallationId(text: string): boolean {
  return INSTALLATION_ID.test(text);
}

/** Whether `text` can name a host: 1 to 40 of `a-z0-9-`, as in a DNS label. */
export function isHostId(text: string): boolean {
  return HOST_ID.test(text);
}

/** The libvirt UUID of a sandbox's domain: UUIDv5 of its id. */
export function domainUuid(sandboxId: string): string {
  const bytes = sha1(concatBytes(UUID_NAMESPACE, utf8ToBytes(sandboxId))).slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * The MAC address of a sandbox's n-th network interface: QEMU's prefix 52:54:00 and 24 bits of SHA-256.
 * 24 bits can collide, so the host checks it against the interfaces it already has.
 */
export function macAddress(sandboxId: string, nic = 0): string {
  const digest = sha256(utf8ToBytes(`${sandboxId}/nic/${nic}`));
  const tail = Array.from(digest.slice(0, 3), (byte) => byte.toString(16).padStart(2, '0'));
  return ['52', '54', '00', ...tail].join(':');
}
