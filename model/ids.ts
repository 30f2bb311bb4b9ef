import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { isSandboxId, SANDBOX_ID } from './sandbox-id.ts';

export { isSandboxId };

/**
 * A sandbox is named once, before anything of it exists. Every other name is a pure function of that id, so a
 * step can be repeated, an undo can find its object, and a sweeper can tell whose residue it looks at, without
 * any stored handle.
 */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';
const SOURCE_ID = /^src-[0-9a-hjkmnp-tv-z]{16}$/;
const SNAPSHOT_ID = /^snp-[0-9a-hjkmnp-tv-z]{16}$/;
const CAPTURE_ID = /^cap-[0-9a-hjkmnp-tv-z]{16}$/;
const OPERATION_ID = /^opn-[0-9a-hjkmnp-tv-z]{16}$/;
const APPROVAL_ID = /^apr-[0-9a-hjkmnp-tv-z]{16}$/;
const IMAGE_ID = /^img-[0-9a-hjkmnp-tv-z]{16}$/;
const PLAYBOOK_ID = /^pbk-[0-9a-hjkmnp-tv-z]{16}$/;
const RUN_ID = /^run-[0-9a-hjkmnp-tv-z]{16}$/;
const HOOK_ID = /^hok-[0-9a-hjkmnp-tv-z]{16}$/;
const ENDPOINT_ID = /^whe-[0-9a-hjkmnp-tv-z]{16}$/;
const DELIVERY_ID = /^dlv-[0-9a-hjkmnp-tv-z]{16}$/;
const WAITPOINT_ID = /^wp-[0-9a-hjkmnp-tv-z]{16}$/;
const BULK_ID = /^blk-[0-9a-hjkmnp-tv-z]{16}$/;
const COMMAND_ID = /^cmd-[0-9a-hjkmnp-tv-z]{16}$/;
const INSTALLATION_ID = /^ins-[0-9a-hjkmnp-tv-z]{24}$/;
const HOST_ID = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
/** As they are written in a JSON Schema. */
export const ID_PATTERNS = {
  sandbox: SANDBOX_ID.source,
  source: SOURCE_ID.source,
  snapshot: SNAPSHOT_ID.source,
  capture: CAPTURE_ID.source,
  command: COMMAND_ID.source,
  approval: APPROVAL_ID.source,
  image: IMAGE_ID.source,
  playbook: PLAYBOOK_ID.source,
  run: RUN_ID.source,
  hook: HOOK_ID.source,
  endpoint: ENDPOINT_ID.source,
  delivery: DELIVERY_ID.source,
  bulk: BULK_ID.source,
  waitpoint: WAITPOINT_ID.source,
  host: HOST_ID.source,
} as const;

/** What every id of ours begins with: no name may, or it could be taken for one. */
const ID_PREFIXES = [
  'sbx',
  'src',
  'snp',
  'cap',
  'opn',
  'cmd',
  'img',
  'pbk',
  'run',
  'hok',
  'whe',
  'dlv',
  'blk',
  'wp',
  'apr',
  'ins',
];
const SANDBOX_NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LIKE_AN_ID = new RegExp(`^(?:${ID_PREFIXES.join('|')})-`);

/** The grammar of a sandbox's name, in two patterns: what it is, and what it is not. */
export const SANDBOX_NAME_PATTERNS = { is: SANDBOX_NAME.source, isNot: LIKE_AN_ID.source } as const;

/** The namespace of our UUIDv5 values (RFC 9562 §5.5): a random UUID, fixed for ever. */
const UUID_NAMESPACE = hexToBytes('8f1d3c5a6b7e4f20918273645566aabb');

/** Bytes of a digest behind the id of an installation: 120 bits, 24 characters. */
const INSTALLATION_BYTES = 15;

/** Random bytes behind one id: 80 bits, 16 characters of Crockford base32. */
export const ID_BYTES = 10;

/**
 * The sandbox id made of 80 random bits.
 * @throws RangeError when not given exactly {@link ID_BYTES} bytes.
 */
export function sandboxIdFrom(random: Uint8Array): string {
  return `sbx-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a command. */
export function commandIdFrom(random: Uint8Array): string {
  return `cmd-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a snapshot. */
export function snapshotIdFrom(random: Uint8Array): string {
  return `snp-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a capture. */
export function captureIdFrom(random: Uint8Array): string {
  return `cap-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for the build of an image. */
export function imageIdFrom(random: Uint8Array): string {
  return `img-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a playbook. */
export function playbookIdFrom(random: Uint8Array): string {
  return `pbk-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a run of a function. */
export function runIdFrom(random: Uint8Array): string {
  return `run-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a hook. */
export function hookIdFrom(random: Uint8Array): string {
  return `hok-${crockford(random)}`;
}

/** As {@link sandboxIdFrom}, for a webhook endpoint. */
export function endpointIdFrom(random: Uint8Array): string {
  return `whe-${crockford(random)}`;
}

/** The id of the waitpoint of a run that has this name. */
export function waitpointIdOf(runId: string, name: string): string {
  return `wp-${crockford(sha256(utf8ToBytes(`${runId}/waitpoint/${name}`)).slice(0, ID_BYTES))}`;
}

/** The id of what is sent of one event to one endpoint: the same two, the same id. */
export function deliveryIdOf(eventId: string, endpointId: string): string {
  return `dlv-${crockford(sha256(utf8ToBytes(`${endpointId}/delivery/${eventId}`)).slice(0, ID_BYTES))}`;
}

/** As {@link sandboxIdFrom}, for one action on many runs. */
export function bulkIdFrom(random: Uint8Array): string {
  return `blk-${crockford(random)}`;
}

/**
 * The id of what one state folder holds: made of the public key with which its host signs what it asks for. So nobody
 * else can sign in its name, and nobody needs to be told which key is its own.
 */
export function installationIdOf(publicKey: string): string {
  const digest = sha256(utf8ToBytes(`mayfly-installation/${publicKey}`)).slice(0, INSTALLATION_BYTES);
  return `ins-${crockford(digest, INSTALLATION_BYTES)}`;
}

/** As {@link sandboxIdFrom}, for a restore, a pause or a resume. */
export function operationIdFrom(random: Uint8Array): string {
  return `opn-${crockford(random)}`;
}

/**
 * The id of a source for what is only Mayfly's: audit, certificates, keys. Other than libvirt's name for it, it is unique
 * among hosts and safe in a path and in a certificate; the same host and name give the same id.
 */
export function sourceIdOf(hostId: string, name: string): string {
  return `src-${crockford(sha256(utf8ToBytes(`${hostId}/source/${name}`)).slice(0, ID_BYTES))}`;
}

/** The id of the approval that one request needs: another key of the caller's, or of another caller, is another. */
export function approvalIdOf(apiKeyId: string, idempotencyKey: string): string {
  return `apr-${crockford(sha256(utf8ToBytes(`${apiKeyId}/approval/${idempotencyKey}`)).slice(0, ID_BYTES))}`;
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

export function isSourceId(text: string): boolean {
  return SOURCE_ID.test(text);
}

export function isApprovalId(text: string): boolean {
  return APPROVAL_ID.test(text);
}

/** Whether an audit chain can be about it: a sandbox, a source that is looked at, an approval, the build of an image, or a run. */
export function isAuditSubject(text: string): boolean {
  return isSandboxId(text) || isSourceId(text) || isApprovalId(text) || isImageId(text) || isRunId(text);
}

export function isCommandId(text: string): boolean {
  return COMMAND_ID.test(text);
}

export function isSnapshotId(text: string): boolean {
  return SNAPSHOT_ID.test(text);
}

export function isCaptureId(text: string): boolean {
  return CAPTURE_ID.test(text);
}

export function isImageId(text: string): boolean {
  return IMAGE_ID.test(text);
}

export function isPlaybookId(text: string): boolean {
  return PLAYBOOK_ID.test(text);
}

export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

export function isHookId(text: string): boolean {
  return HOOK_ID.test(text);
}

export function isEndpointId(text: string): boolean {
  return ENDPOINT_ID.test(text);
}

export function isDeliveryId(text: string): boolean {
  return DELIVERY_ID.test(text);
}

export function isWaitpointId(text: string): boolean {
  return WAITPOINT_ID.test(text);
}

export function isBulkId(text: string): boolean {
  return BULK_ID.test(text);
}

export function isOperationId(text: string): boolean {
  return OPERATION_ID.test(text);
}

/** Whether `text` is an installation id. */
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
