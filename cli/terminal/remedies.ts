import { ERRORS, type ErrorCode, isErrorCode } from '../../model/errors.ts';

/** Remedies for the CLI, where the errors' table names API routes. */
const REMEDIES: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'Set MAYFLY_API_KEY to another; make one with `mayfly key create`.',
  forbidden: 'Use a key that has the scope, or, where the reason is another, that of somebody else.',
  sandbox_not_found: 'List them with `mayfly sandbox list --all`.',
  sandbox_not_running: 'See its state with `mayfly sandbox get`.',
  sandbox_suspended: 'Let it go on with `mayfly resume`.',
  snapshot_not_found: 'List them with `mayfly snapshot list`.',
  command_not_found: 'List them with `mayfly command list`.',
  certificate_not_found: 'List them with `mayfly credential list`.',
  source_not_found: 'List them with `mayfly source list`; `mayfly image list` shows which can be built.',
  source_not_prepared: 'Prepare it first with `mayfly source prepare`.',
  source_running:
    'Capture it with `mayfly capture create`, or stop it with `mayfly source stop`; a disk that is being written cannot be cloned.',
  source_not_running: 'Start it with `mayfly source start`; one that is shut off is cloned as it is.',
  source_read_only: 'Bake a snapshot of a sandbox with `mayfly source bake`, and start what was made of it.',
  source_stop_failed: 'It may still: ask again, or with `--force`, which loses what it has not written yet.',
  capture_not_found: 'List them with `mayfly capture list`.',
  template_not_found: 'List them with `mayfly template list`.',
  template_unavailable: 'Make one with `mayfly template create`, or leave `--boot` out: then it boots cold.',
  template_failed: 'See why with `mayfly template list`; sandboxes boot cold meanwhile.',
  policy_changed: 'Look at it with `mayfly policy get`, and change what is there.',
  approval_stale: 'Ask again with another --idempotency-key; what is shown has its `digest`.',
  approval_not_found: 'List them with `mayfly approval list --all`.',
  context_not_found: 'Build again with `mayfly image build`, which sends it.',
  image_not_found: 'List builds with `mayfly image builds`.',
  playbook_not_written: 'Wait for it; of one that failed, `failure` says why.',
  playbook_not_found: 'Write one with `mayfly playbook`, which names it.',
  secret_not_found:
    'List them with `mayfly secret list`; put one with `mayfly secret create`. What a function names must be there.',
  schedule_not_found: 'List them with `mayfly schedule list`; make one with `mayfly schedule create`.',
  function_not_found: 'List them with `mayfly function list`; deploy one with `mayfly function deploy`.',
  function_version_not_found: 'List its versions with `mayfly function get`.',
  function_in_use: 'Wait for them, or cancel them; with `--drain` it goes when they have ended.',
  setup_failed:
    'See why with `mayfly function get`. Mend its script, or deploy the same again: it is tried once more. Then redrive the runs.',
  run_not_found: 'List them with `mayfly function runs`. Those that ended long ago are removed.',
  run_not_ended: 'See how far it is with `mayfly function run`, and what it prints with `mayfly function logs -f`.',
  run_without_result: 'Its process left none, or none could be fetched: see it with `mayfly function run`.',
  run_failed: 'See it with `mayfly function run`, and what it printed with `mayfly function logs`.',
  run_timed_out: 'Raise its `timeoutSeconds`, or see what it printed with `mayfly function logs`.',
  endpoint_not_found: 'List them with `mayfly webhook list`.',
  endpoint_disabled: 'See why with `mayfly webhook get`, and have it sent to again with `mayfly webhook enable`.',
  delivery_not_found: 'List them with `mayfly webhook deliveries`. They are kept for 30 days.',
  pool_not_found: 'List them with `mayfly pool list`.',
  exceeds_hosts: 'Ask for no more than the largest host has in all; see `mayfly host list`.',
  no_host: 'Start a host worker; see `mayfly host list`.',
};

export function remedyOf(code: ErrorCode): string {
  return REMEDIES[code] ?? ERRORS[code].remedy;
}

/** Returns the fields of a failed workflow, with its remedy. */
export function failureFields(failure: { code: string; step: string; message: string } | null): [string, string][] {
  if (!failure) return [];
  const { code, step, message } = failure;
  const known = isErrorCode(code) ? code : 'internal';
  return [
    ['failed', `${step}: ${ERRORS[known].title} (${code})`],
    ['reason', message],
    ['do', remedyOf(known)],
  ];
}
