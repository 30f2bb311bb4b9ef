import { errorTable, limitReached, notFound } from './entry.ts';

/** Errors of functions, events and runs. */
export const FUNCTION_ERRORS = errorTable({
  function_not_found: notFound('function', 'GET /v1/functions; deploy one with PUT /v1/functions/{name}'),
  function_version_not_found: {
    status: 404,
    title: 'The function has no such version',
    remedy: 'List its versions with GET /v1/functions/{name}/versions.',
  },
  function_in_use: {
    status: 409,
    retryable: true,
    title: 'Runs of the function have not ended',
    remedy:
      'Wait for them, cancel them, or delete it with ?drain=true: then it accepts no more, and goes when they have ended.',
  },
  function_draining: {
    status: 409,
    title: 'The function is being deleted',
    remedy: 'It accepts no events and no versions. Deploy it again when it is gone.',
  },
  functions_full: limitReached('project', 'functions'),
  retry_needs_idempotent: {
    status: 422,
    title: 'Retries are refused for a function that does not say that it is idempotent',
    remedy:
      'Say `idempotent: true` if its process may be started again for the same event, or leave `retry.maxAttempts` at 1. What never began is begun again in any case.',
  },
  invalid_schema: {
    status: 422,
    title: 'That is not a JSON Schema that can be used',
    remedy:
      'Mend what `errors` names. It is draft 2020-12, of at most 64 KiB and 64 levels; every `$ref` is to a place in the schema itself.',
  },
  event_invalid: {
    status: 422,
    title: "The event's data does not fit the schema of the function",
    remedy: 'Mend the fields named in `errors`, which are JSON Pointers into `data`.',
  },
  schema_too_slow: {
    status: 422,
    title: 'The schema of the function takes too much time or memory',
    remedy:
      'Mend its `pattern`, where one repeats what repeats already, as `^(a+)+$` does; or make the schema smaller. Of one event alone: send less data.',
  },
  invalid_event: {
    status: 400,
    title: 'The event is not a CloudEvent',
    remedy: 'See `errors`: each names an attribute of CloudEvents 1.0, or a member of its JSON.',
  },
  event_conflict: {
    status: 409,
    title: 'Another event came under that id',
    remedy:
      'An event is known by its source and id. Send the same again to be told of its run, or give another one another id.',
  },
  event_too_large: {
    status: 413,
    title: 'The event is larger than the function takes',
    remedy: 'Send a reference to the data instead, or raise `input.maxBytes` of the function (25 MiB at most).',
  },
  key_invalid: {
    status: 422,
    title: 'What a concurrency key points to is no key',
    remedy: 'Point it at a text, a number or a truth value of 256 bytes at most, such as an id.',
  },
  schedule_not_found: notFound('schedule', 'GET /v1/schedules; make one with PUT /v1/schedules/{name}'),
  schedules_full: limitReached('project', 'schedules'),
  schedule_busy: {
    status: 409,
    retryable: true,
    title: 'Too much is asked of the schedule at once',
    remedy: 'Ask again in some seconds: what was asked for before is being done.',
  },
  hook_not_found: {
    status: 404,
    title: 'There is no such hook',
    remedy: 'List those of its function. Where events are sent to, one that is disabled is not there either.',
  },
  hooks_full: limitReached('function', 'hooks'),
  signature_invalid: {
    status: 401,
    title: 'What was sent is not from one who has a secret of the hook',
    remedy:
      'Sign the bytes of the body as they are sent, by the scheme of the hook, with one of its secrets, and at most 300 s before or after. Nothing says which of these it was.',
  },
  waitpoint_not_found: {
    status: 404,
    title: 'There is no such waitpoint',
    remedy:
      'Send the data to the path that was answered when its token was made. A waitpoint is removed together with its run.',
  },
  waitpoint_completed: {
    status: 409,
    title: 'The waitpoint was completed before',
    remedy:
      'The data that came first is what its process has. The same data again is answered with 200, other data is refused.',
  },
  waitpoint_expired: {
    status: 410,
    title: 'The waitpoint takes no data any more',
    remedy:
      'Its time is over, or its run has ended: list the waitpoints of the run. Replay the run if it is to be done again.',
  },
  waitpoints_full: {
    status: 409,
    title: 'The run has as many waitpoints, or the waitpoint as many tokens, as it may have',
    remedy: 'Use a token that was made before, or wait at fewer points.',
  },
  run_has_ended: {
    status: 409,
    title: 'The run has ended',
    remedy: 'Nothing waits in a run that has ended. Replay it if it is to be done again.',
  },
  secret_not_found: {
    status: 404,
    title: 'There is no such secret',
    remedy: 'List them with GET /v1/secrets; put one with PUT /v1/secrets/{name}. What a function names must be there.',
  },
  secrets_full: limitReached('project', 'secrets'),
  secrets_too_large: {
    status: 422,
    title: 'The secrets of the function are larger than a process may be given',
    remedy: 'Give it fewer of them: their values may have 64 KiB in all.',
  },
  endpoint_not_found: notFound('webhook endpoint', 'GET /v1/webhook-endpoints'),
  endpoints_full: limitReached('project', 'webhook endpoints'),
  endpoint_disabled: {
    status: 409,
    title: 'Nothing is sent to the webhook endpoint',
    remedy: 'See `disabledFor`. Have it sent to again with PATCH /v1/webhook-endpoints/{id} and {"disabled": false}.',
  },
  delivery_not_found: {
    status: 404,
    title: 'There is no such delivery',
    remedy: 'List those of an endpoint with GET /v1/webhook-endpoints/{id}/deliveries. They are kept for 30 days.',
  },
  setup_failed: {
    status: 409,
    title: 'The setup of the function failed',
    remedy:
      'The versions of the function (GET /v1/functions/{name}/versions) say why, and what its script printed last. Mend it, or deploy the same again: then it is tried once more. Then redrive the runs.',
  },
  setup_not_ready: {
    status: 409,
    retryable: true,
    title: 'The setup of the function is not ready',
    remedy: 'Its runs wait for it (`waitingFor`: `setup`); the versions of the function say how far it is.',
  },
  queue_full: {
    status: 429,
    retryable: true,
    title: 'As many runs of the project wait as may wait',
    remedy:
      'Send it again later, raise the concurrency of its functions, or cancel what is not wanted with their bulk actions.',
  },
  run_not_found: {
    status: 404,
    title: 'There is no such run',
    remedy: 'List them with GET /v1/runs. Those that ended long ago are removed.',
  },
  bulk_not_found: {
    status: 404,
    title: 'There is no such bulk action',
    remedy: 'Its answer named it when it was begun. Those that were over long ago are removed.',
  },
  not_dead_letter: {
    status: 409,
    title: 'The run is no dead letter',
    remedy:
      'Only a run that ended otherwise than succeeded, cancelled or skipped is redriven, and only once. Replay it instead: any run can be.',
  },
  run_not_ended: {
    status: 409,
    retryable: true,
    title: 'The run has not ended',
    remedy: 'Read it (GET /v1/runs/{id}) until its state is `ended`.',
  },
  receipt_not_ready: {
    status: 409,
    retryable: true,
    title: 'The run has no receipt yet',
    remedy:
      'It is signed within seconds after the cleanup of the run is proved. Where that takes longer, see the log of the control worker, and `mayfly doctor`.',
  },
  run_without_result: {
    status: 404,
    title: 'The run has no such result',
    remedy: 'Its process wrote none, or none could be fetched: see `outcome`, `result` and `artifacts` of the run.',
  },
  run_in_batch: {
    status: 409,
    title: 'The run is one of a batch',
    remedy: 'Cancel the batch, which `batch` of the run names: all of its events end with it.',
  },
  run_failed: {
    status: 502,
    title: 'The function did not succeed',
    remedy: 'See `outcome` and `failure` of the run, and what it printed (GET /v1/runs/{id}/output).',
  },
  run_skipped: {
    status: 409,
    title: 'The function was not started for the event',
    remedy:
      'Its rules say so: see `skippedFor` of the run. With `superseded`, the run that `supersededBy` names has its place.',
  },
  run_is_batch: {
    status: 409,
    title: 'The run has the events of others',
    remedy: 'Replay or redrive those: `events` of the run names them by `runId`. They gather anew.',
  },
  run_timed_out: {
    status: 504,
    title: 'The function did not end within its time',
    remedy: 'Raise its `timeoutSeconds`, or see what it waited for (GET /v1/runs/{id}/output).',
  },
  function_gone: {
    status: 409,
    title: 'What the run was accepted for is not there any more',
    remedy: 'Its function was deleted, or its version is too old. Deploy it, and send the event again.',
  },
  result_too_large: {
    status: 422,
    title: 'The result, or the artifacts, are larger than the function may write',
    remedy: 'Write less, or raise `result.maxBytes` or `artifacts.maxBytes`. What came within the limit is kept.',
  },
  result_invalid: {
    status: 422,
    title: 'What the process wrote as its result is not one',
    remedy: 'Write a regular file to $MAYFLY_RESULT: JSON, or whatever $MAYFLY_RESULT.type names.',
  },
  result_lost: {
    status: 500,
    title: 'The result could not be fetched',
    remedy:
      'Its machine ended before. The process did exit with 0: look at what it has done before you send the event again.',
  },
  run_interrupted: {
    status: 500,
    title: 'Nobody can tell how the process ended',
    remedy: 'It was started, and its machine ended. Look at what it has done before you send the event again.',
  },
});
