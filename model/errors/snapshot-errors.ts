import { errorTable, notFound } from './entry.ts';

/** Errors of snapshots and comparisons. */
export const SNAPSHOT_ERRORS = errorTable({
  snapshot_not_found: notFound('snapshot', 'GET /v1/sandboxes/{id}/snapshots'),
  snapshot_not_ready: {
    status: 409,
    title: 'The snapshot cannot be used',
    remedy: 'Its `state` says why: only one that is `ready` can be restored or forked.',
  },
  snapshot_name_taken: {
    status: 409,
    title: 'The sandbox has a snapshot of that name',
    remedy: 'Choose another name, or delete that snapshot.',
  },
  snapshot_unsupported: {
    status: 422,
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
  flatten_failed: {
    status: 502,
    retryable: true,
    title: "The chain of a sandbox's disks could not be shortened",
    remedy:
      'The sandbox goes on as it is, and this is tried again after its next snapshot; `detail` says what is missing.',
  },
  diff_failed: {
    status: 422,
    title: 'The file systems cannot be compared',
    remedy:
      'See `detail` for the snapshot and the reason: what cannot be read, or what is too much. `path` narrows it.',
  },
});
