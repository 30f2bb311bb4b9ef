import { errorTable, notFound } from './entry.ts';

/** Errors of golden VMs and their inspection. */
export const SOURCE_ERRORS = errorTable({
  readonly_refused: {
    status: 422,
    title: 'That is not allowed on a source',
    remedy: 'See `errors` for the position and the reason; docs/read-only.md lists what is allowed.',
  },
  source_not_prepared: {
    status: 409,
    title: 'The source is not prepared for looking',
    remedy: 'POST /v1/sources/{name}/prepare first.',
  },
  prepare_failed: {
    status: 502,
    title: 'The source could not be prepared',
    remedy: 'See `detail` for the step and the reason; what was changed has been taken back.',
  },
  source_not_running: {
    status: 409,
    title: 'The source is not running',
    remedy:
      'Start it (POST /v1/sources/{name}/start); only a running machine can be looked at or captured. One that is shut off ' +
      'is cloned as it is.',
  },
  source_not_found: notFound('source', 'GET /v1/sources'),
  source_running: {
    status: 409,
    title: 'The source is running',
    remedy:
      'Capture it (POST /v1/sources/{name}/captures), or stop it (POST …/stop); a disk that is being written cannot be cloned.',
  },
  source_busy: {
    status: 409,
    retryable: true,
    title: 'The source is being captured or prepared, or that is being taken back',
    remedy: 'Wait until that has ended; `detail` names it.',
  },
  source_unsafe: {
    status: 409,
    title: 'The source cannot be cloned safely',
    remedy: 'Change what `detail` names in the source, or use another.',
  },
  source_changed: {
    status: 409,
    title: "The source's disk has changed under its clones",
    remedy: 'Restore the disk, or destroy the clones and register the new disk.',
  },
  source_differs: {
    status: 409,
    title: 'Hosts have different sources of that name',
    remedy: 'Rename one of them, or drain its host (`mayfly host drain`); of captures, name one.',
  },
  source_exists: {
    status: 409,
    title: 'There is a source of that name',
    remedy: 'Choose another name, or delete that source.',
  },
  source_in_use: {
    status: 409,
    retryable: true,
    title: 'Something refers to the source',
    remedy:
      'Destroy the sandboxes and delete the snapshots and captures that `detail` names; then the source can be deleted, or ' +
      'started. A machine to try things on is a sandbox of it.',
  },
  source_not_baked: {
    status: 409,
    title: 'Mayfly did not make that source',
    remedy: 'Remove it where it was made: with virsh, for example.',
  },
  source_read_only: {
    status: 409,
    title: 'The source is an image of Mayfly, which must not change',
    remedy: 'Make a sandbox of it; or bake a snapshot of one (POST /v1/sources), and start what was made of it.',
  },
  source_start_failed: {
    status: 502,
    title: 'The source did not start',
    remedy: 'See `detail` for what its host said. To ask again is no second start.',
  },
  source_stop_failed: {
    status: 502,
    title: 'The source did not shut down',
    remedy: 'It may still: ask again, or with `force`, which loses what it has not written yet.',
  },
  bake_failed: {
    status: 502,
    retryable: true,
    title: 'The source could not be baked',
    remedy: 'See `detail` for the step and the reason; what was made of it has been removed.',
  },
});

/** Errors of captures of running sources. */
export const CAPTURE_ERRORS = errorTable({
  capture_not_found: notFound('capture', 'GET /v1/sources/{name}/captures'),
  capture_not_ready: {
    status: 409,
    title: 'The capture cannot be used',
    remedy: 'Its `state` says why: only one that is `ready` can be cloned.',
  },
  capture_in_use: {
    status: 409,
    title: 'Something refers to the capture',
    remedy: 'Remove what `detail` names first.',
  },
  capture_failed: {
    status: 502,
    retryable: true,
    title: 'The source could not be captured',
    remedy: 'See `detail`; what was copied has been removed, and the source goes on.',
  },
});

/** Errors of templates and warm pools. */
export const TEMPLATE_ERRORS = errorTable({
  template_not_found: notFound('template', 'GET /v1/templates'),
  template_unavailable: {
    status: 409,
    retryable: true,
    title: 'No template is ready for such a sandbox',
    remedy:
      'Make one (POST /v1/templates) and wait until it is `ready`, or ask with `boot: auto`, which boots cold instead.',
  },
  template_failed: {
    status: 500,
    retryable: true,
    title: 'A template could not be made',
    remedy: 'See `reason` of the template; it is tried again at `retryAt`. Sandboxes boot cold meanwhile.',
  },
  template_unsupported: {
    status: 422,
    title: 'No templates are made of that',
    remedy: 'Sandboxes of it boot cold; `detail` says which host was asked.',
  },
  pool_not_found: notFound('pool', 'GET /v1/pools'),
});
