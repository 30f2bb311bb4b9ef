export type Failure =
  /** The desired state holds already: a repeated start, a repeated removal. */
  | { result: 'ok' }
  | { result: 'not_found'; retry: false }
  | { result: 'unavailable'; retry: true }
  | { result: 'busy'; retry: true }
  | { result: 'retry_with'; flag: string }
  | { result: 'failed'; retry: false };

/** Error texts of libvirt 6 to 11 (src/util/virerror.c, src/rpc/, src/remote/) and of ssh where the URI uses it. */
const UNAVAILABLE =
  /failed to connect (?:to the hypervisor|socket)|no connection driver|cannot recv data|cannot write data|end of file while reading|connection reset|connection refused|broken pipe|unable to connect|client socket is closed|connection (?:is )?(?:closed|not open)|keepalive timeout|disconnected from|no route to host|connection timed out|could not resolve|failed to start daemon|internal error: received hangup/i;
const NOT_FOUND =
  /no domain with matching|domain not found|failed to get domain|no network with matching|network not found|failed to get network|no such domain/i;
const BUSY = /cannot acquire state change lock|timed out during operation|another job is|device or resource busy/i;
const UNDEFINE_OPTIONS: [RegExp, string][] = [
  [/managed[ -]save/i, '--managed-save'],
  [/checkpoints?\b/i, '--checkpoints-metadata'],
  [/snapshots?\b/i, '--snapshots-metadata'],
  [/nvram/i, '--nvram'],
  [/\btpm\b/i, '--tpm'],
];

/** Classifies the failure of a query (`domstate`, `dominfo`, `domiflist` …). */
export function queryFailure(stderr: string): Failure {
  if (UNAVAILABLE.test(stderr)) return { result: 'unavailable', retry: true };
  if (NOT_FOUND.test(stderr)) return { result: 'not_found', retry: false };
  if (BUSY.test(stderr)) return { result: 'busy', retry: true };
  return { result: 'failed', retry: false };
}

/** Classifies the failure of `virsh start`, `net-start` or `define`. A running object counts as success. */
export function startFailure(stderr: string): Failure {
  const already = /already (?:active|running|started)/i.test(stderr);
  return already && !UNAVAILABLE.test(stderr) ? { result: 'ok' } : queryFailure(stderr);
}

/** Classifies the failure of `virsh destroy` or `virsh undefine`. A missing object counts as success. */
export function removeFailure(stderr: string): Failure {
  if (UNAVAILABLE.test(stderr)) return { result: 'unavailable', retry: true };
  if (NOT_FOUND.test(stderr) || /domain is not running/i.test(stderr)) return { result: 'ok' };
  if (BUSY.test(stderr)) return { result: 'busy', retry: true };
  const option = UNDEFINE_OPTIONS.find(([pattern]) => pattern.test(stderr));
  return option ? { result: 'retry_with', flag: option[1] } : { result: 'failed', retry: false };
}
