/**
 * The one closed table of errors. The same string is the `code` of a problem+json answer, the `type` of a
 * Temporal ApplicationFailure and the `failure.code` of a sandbox's record. docs/errors.md is generated from it.
 */
interface ErrorEntry {
  /** HTTP status of the answer. */
  status: number;
  /** The same request can succeed later without a change. */
  retryable: boolean;
  title: string;
  /** What the reader can do. */
  remedy: string;
}

export const ERRORS = {
  invalid_request: {
    status: 422,
    retryable: false,
    title: 'The request is not valid',
    remedy: 'Mend the fields named in `errors`.',
  },
  invalid_json: {
    status: 400,
    retryable: false,
    title: 'The body is not JSON',
    remedy: 'Send one JSON object in UTF-8.',
  },
  invalid_id: {
    status: 400,
    retryable: false,
    title: 'That is not an id',
    remedy: 'Use an id as this API returned it.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: 'The body is of another media type',
    remedy: 'Send `Content-Type: application/json`.',
  },
  body_too_large: { status: 413, retryable: false, title: 'The body is too large', remedy: 'Send at most 1 MiB.' },
  unauthenticated: {
    status: 401,
    retryable: false,
    title: 'No valid API key',
    remedy: 'Send `Authorization: Bearer <key>`; make one with `mayfly key create`.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    title: 'This key may not do that',
    remedy: 'Use a key with the scope that `detail` names.',
  },
  not_found: { status: 404, retryable: false, title: 'There is no such thing', remedy: 'Check the path and the id.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: 'That method is not for this path',
    remedy: 'See /openapi.json for what the path takes.',
  },
  sandbox_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such sandbox',
    remedy: 'List them with GET /v1/sandboxes.',
  },
  sandbox_ended: {
    status: 409,
    retryable: false,
    title: 'The sandbox has ended or is ending',
    remedy: 'Create another.',
  },
  sandbox_not_running: {
    status: 409,
    retryable: true,
    title: 'The sandbox is not running',
    remedy:
      'Wait until its state is `running` (GET /v1/sandboxes/{id}/events); let one that is paused go on (POST /v1/sandboxes/{id}/resume).',
  },
  sandbox_busy: {
    status: 409,
    retryable: true,
    title: 'Another operation of the sandbox is under way',
    remedy: 'Wait until it has ended; `detail` names it.',
  },
  snapshot_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such snapshot',
    remedy: 'List them with GET /v1/sandboxes/{id}/snapshots.',
  },
  snapshot_not_ready: {
    status: 409,
    retryable: false,
    title: 'The snapshot cannot be used',
    remedy: 'Its `state` says why: only one that is `ready` can be restored or forked.',
  },
  snapshot_name_taken: {
    status: 409,
    retryable: false,
    title: 'The sandbox has a snapshot of that name',
    remedy: 'Choose another name, or delete that snapshot.',
  },
  snapshot_unsupported: {
    status: 422,
    retryable: false,
    title: 'That kind of snapshot cannot be taken here',
    remedy: "Take one of kind `disk`; `detail` says what stands in the other's way.",
  },
  snapshot_failed: {
    status: 502,
    retryable: true,
    title: 'The snapshot could not be taken',
    remedy: 'See `detail` and the audit; what was saved of it has been removed, and the sandbox goes on.',
  },
  restore_failed: {
    status: 502,
    retryable: true,
    title: 'The sandbox could not be restored',
    remedy: "See `detail` and the audit; the sandbox's `state` says what it is now.",
  },
  hibernation_unsupported: {
    status: 422,
    retryable: false,
    title: 'This host cannot hibernate sandboxes',
    remedy: 'Pause it instead, or use a host with virtual machines.',
  },
  hibernate_failed: {
    status: 502,
    retryable: true,
    title: 'The memory of the sandbox could not be saved',
    remedy: 'See `detail`: it may be room on the host. The sandbox goes on.',
  },
  wake_failed: {
    status: 502,
    retryable: true,
    title: 'The hibernated sandbox could not be woken',
    remedy: 'See `detail`; it stays hibernated, and nothing of it is given up until it is destroyed.',
  },
  flatten_failed: {
    status: 502,
    retryable: true,
    title: "The chain of a sandbox's disks could not be shortened",
    remedy:
      'The sandbox goes on as it is, and this is tried again after its next snapshot; `detail` says what is missing.',
  },
  command_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such command',
    remedy: 'List them with GET /v1/sandboxes/{id}/commands.',
  },
  command_ended: {
    status: 409,
    retryable: false,
    title: 'The command has ended',
    remedy: 'Start another.',
  },
  command_refused: {
    status: 422,
    retryable: false,
    title: 'The guest cannot start that command',
    remedy: 'Mend what `detail` names: a user or a working directory that the guest does not have.',
  },
  program_not_found: {
    status: 422,
    retryable: false,
    title: 'The guest has no such program',
    remedy: 'Install it, or give the path of one that is there.',
  },
  program_not_executable: {
    status: 422,
    retryable: false,
    title: 'The guest cannot run that program',
    remedy: 'Mend what `detail` names: its permissions, or what it is.',
  },
  stdin_conflict: {
    status: 409,
    retryable: false,
    title: 'Standard input is not at that offset, or is closed',
    remedy: 'Go on from the offset in `detail`.',
  },
  file_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such file in the sandbox',
    remedy: 'List its directory.',
  },
  diff_failed: {
    status: 422,
    retryable: false,
    title: 'The file systems cannot be compared',
    remedy:
      'See `detail` for the snapshot and the reason: what cannot be read, or what is too much. `path` narrows it.',
  },
  file_conflict: {
    status: 409,
    retryable: false,
    title: 'Something else is at that path',
    remedy:
      'See `detail`: a directory where a file was meant, a file where a directory was, or a directory with content.',
  },
  file_forbidden: {
    status: 403,
    retryable: false,
    title: 'The guest does not allow that',
    remedy: 'See `detail`: a read-only file system, an immutable file, or missing rights.',
  },
  guest_disk_full: {
    status: 507,
    retryable: false,
    title: "The sandbox's disk is full",
    remedy: 'Remove files, or create a sandbox with a larger source.',
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    title: 'The range is outside of the file',
    remedy: 'See Content-Range for its size.',
  },
  guest_unreachable: {
    status: 503,
    retryable: true,
    title: 'The sandbox does not answer',
    remedy: 'Try again; when it stays so, look at its state: its machine may be down.',
  },
  guest_failed: {
    status: 502,
    retryable: false,
    title: 'The guest answered in a way that makes no sense',
    remedy: 'Its agent may have been tampered with; destroy the sandbox and create another.',
  },
  certificate_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such certificate',
    remedy: 'List them with GET /v1/sandboxes/{id}/credentials.',
  },
  public_key_refused: {
    status: 422,
    retryable: false,
    title: 'That public key cannot be signed',
    remedy: 'Send one line of an Ed25519, ECDSA or RSA (2048 bits or more) public key, without options.',
  },
  readonly_refused: {
    status: 422,
    retryable: false,
    title: 'That is not allowed on a source',
    remedy: 'See `errors` for the position and the reason; docs/read-only.md lists what is allowed.',
  },
  source_not_prepared: {
    status: 409,
    retryable: false,
    title: 'The source is not prepared for looking',
    remedy: 'POST /v1/sources/{name}/prepare first.',
  },
  prepare_failed: {
    status: 502,
    retryable: false,
    title: 'The source could not be prepared',
    remedy: 'See `detail` for the step and the reason; what was changed has been taken back.',
  },
  source_not_running: {
    status: 409,
    retryable: false,
    title: 'The source is not running',
    remedy: 'Start it; only a running machine can be looked at or captured. One that is shut off is cloned as it is.',
  },
  source_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such source',
    remedy: 'List them with GET /v1/sources.',
  },
  source_running: {
    status: 409,
    retryable: false,
    title: 'The source is running',
    remedy:
      'Capture it (POST /v1/sources/{name}/captures), or shut it down; a disk that is being written cannot be cloned.',
  },
  source_busy: {
    status: 409,
    retryable: true,
    title: 'The source is being captured, or a capture of it deleted',
    remedy: 'Wait until that has ended; `detail` names it.',
  },
  capture_not_found: {
    status: 404,
    retryable: false,
    title: 'There is no such capture',
    remedy: 'List them with GET /v1/sources/{name}/captures.',
  },
  capture_not_ready: {
    status: 409,
    retryable: false,
    title: 'The capture cannot be used',
    remedy: 'Its `state` says why: only one that is `ready` can be cloned.',
  },
  capture_in_use: {
    status: 409,
    retryable: false,
    title: 'Something refers to the capture',
    remedy: 'Remove what `detail` names first.',
  },
  capture_failed: {
    status: 502,
    retryable: true,
    title: 'The source could not be captured',
    remedy: 'See `detail`; what was copied has been removed, and the source goes on.',
  },
  source_unsafe: {
    status: 409,
    retryable: false,
    title: 'The source cannot be cloned safely',
    remedy: 'Change what `detail` names in the source, or use another.',
  },
  source_changed: {
    status: 409,
    retryable: false,
    title: "The source's disk has changed under its clones",
    remedy: 'Restore the disk, or destroy the clones and register the new disk.',
  },
  source_exists: {
    status: 409,
    retryable: false,
    title: 'There is a source of that name',
    remedy: 'Choose another name, or delete that source.',
  },
  source_in_use: {
    status: 409,
    retryable: true,
    title: 'Something refers to the source',
    remedy: 'Destroy the sandboxes and delete the snapshots and captures that `detail` names, then delete the source.',
  },
  source_not_baked: {
    status: 409,
    retryable: false,
    title: 'Mayfly did not make that source',
    remedy: 'Remove it where it was made: with virsh, for example.',
  },
  bake_failed: {
    status: 502,
    retryable: true,
    title: 'The source could not be baked',
    remedy: 'See `detail` for the step and the reason; what was made of it has been removed.',
  },
  idempotency_key_reused: {
    status: 422,
    retryable: false,
    title: 'This Idempotency-Key was used with another body',
    remedy: 'Use a new key for a new request.',
  },
  capacity_exhausted: {
    status: 503,
    retryable: true,
    title: 'No host has room',
    remedy: 'Ask for less, destroy something, or try again later.',
  },
  quota_exceeded: {
    status: 409,
    retryable: false,
    title: 'A storage quota would be, or is, exceeded',
    remedy: 'Delete what `detail` names, or have the quota raised with `mayfly key limit`.',
  },
  host_disk_full: {
    status: 507,
    retryable: true,
    title: "The host's disk is full",
    remedy: 'Make room on the host: delete snapshots or sandboxes; docs/operations.md says what else can be done.',
  },
  no_host: {
    status: 503,
    retryable: true,
    title: 'No host is available',
    remedy: 'Start a host worker; see GET /v1/hosts.',
  },
  host_unavailable: {
    status: 503,
    retryable: true,
    title: 'The host does not answer',
    remedy: 'Start its host worker or its libvirtd again; the saga goes on by itself.',
  },
  clone_failed: {
    status: 502,
    retryable: true,
    title: 'The disk could not be cloned',
    remedy: 'See `detail` and the audit; the partial clone was removed.',
  },
  boot_failed: {
    status: 502,
    retryable: true,
    title: 'The machine did not start',
    remedy: 'See `detail` and the audit; nothing was left behind.',
  },
  ip_timeout: {
    status: 504,
    retryable: true,
    title: 'The machine got no address in time',
    remedy: 'Check that the source asks for DHCP and reads its seed.',
  },
  ssh_timeout: {
    status: 504,
    retryable: true,
    title: 'SSH was not verified in time',
    remedy: 'Check that the source runs sshd and trusts the user CA given by its seed.',
  },
  host_key_mismatch: {
    status: 502,
    retryable: false,
    title: 'Another machine answered',
    remedy: 'The host key differs from the pinned one; look for an address conflict.',
  },
  step_timeout: {
    status: 504,
    retryable: true,
    title: 'A step took too long',
    remedy: 'See `failure.step`; nothing was left behind.',
  },
  address_conflict: {
    status: 409,
    retryable: true,
    title: 'The address or MAC is already in use on the host',
    remedy: 'Try again; a new id gives a new MAC.',
  },
  stale_attempt: {
    status: 409,
    retryable: false,
    title: 'A newer step has overtaken this one',
    remedy: 'Nothing to do: the newer step decides.',
  },
  cleanup_incomplete: {
    status: 500,
    retryable: true,
    title: 'Something is still there',
    remedy: 'The saga goes on removing it; see `waitingFor` and `mayfly doctor`.',
  },
  fault_injected: { status: 500, retryable: false, title: 'A failpoint fired', remedy: 'Unset MAYFLY_FAILPOINTS.' },
  too_many_requests: {
    status: 429,
    retryable: true,
    title: 'Too many at once',
    remedy: 'Wait for Retry-After seconds.',
  },
  store_unavailable: {
    status: 503,
    retryable: true,
    title: 'The store does not answer',
    remedy: 'Check MONGODB_URI and the server behind it.',
  },
  temporal_unavailable: {
    status: 503,
    retryable: true,
    title: 'Temporal does not answer',
    remedy: 'Check TEMPORAL_ADDRESS and the server behind it.',
  },
  internal: { status: 500, retryable: false, title: 'That is our fault', remedy: 'Report it with the requestId.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/** An error a person can meet: what happened (`message`), of which kind (`code`), and what more is known (`detail`). */
export class MayflyError extends Error {
  override readonly name = 'MayflyError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: {
      cause?: unknown;
      fields?: { field: string; problem: string }[];
      retryAfterSeconds?: number;
    } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}
