import { text } from 'node:stream/consumers';
import { ask } from '../asking.ts';
import { SAYS_ITS_NONCE } from './nonce.ts';
import { oneRun } from './program.ts';

/** Runs one event with one attempt and one process; its result is fetched, and its sandbox is cleaned up. */
export const RUN_A_FUNCTION = oneRun(
  { command: `${SAYS_ITS_NONCE}; echo '"done"' > $MAYFLY_RESULT` },
  'succeeded with a result',
  ({ outcome, result }) => `${outcome} ${result ? 'with a result' : 'without one'}`,
);

/** Retries the first attempt: two sandboxes, with one process each. */
export const RETRY_A_RUN = oneRun(
  {
    command: `${SAYS_ITS_NONCE}; [ $MAYFLY_ATTEMPT = 2 ] || exit 75`,
    idempotent: true,
    retry: { maxAttempts: 2, on: [], backoff: { initialSeconds: 0 } },
  },
  'succeeded, 2 attempts',
  ({ outcome, attempts }) => `${outcome}, ${attempts.length} attempts`,
);

/** Retains the disk of a failed process, and lists its changes. */
export const KEEP_WHAT_FAILED = oneRun(
  { command: `${SAYS_ITS_NONCE}; exit 3`, keep: { onFailure: 'disk' }, diff: true },
  'failed, kept, told',
  ({ outcome, kept, diff }) => {
    const why = [kept?.failure, diff?.failure].flatMap((failure) => failure?.message ?? []).join('; ');
    const isTold = diff?.digest || diff?.failure?.code === 'host_unavailable'; // host away for longer than a step waits for it
    return `${outcome}, ${kept?.snapshotId ? 'kept' : 'not kept'}, ${isTold ? 'told' : `not compared: ${why}`}`;
  },
);

const WAITING = { command: `${SAYS_ITS_NONCE}; "$MAYFLY_WAIT" leave --timeout 3600`, timeoutSeconds: 3_600 };

/** Suspends the process at a waitpoint, completes it, and resumes the process. */
export const WAIT_AT_A_WAITPOINT = oneRun(WAITING, 'succeeded', undefined, async ({ client }, run, key) => {
  if (run.waitingFor !== 'waitpoint') return;
  const [waitpoint] = (await ask(() => client.waitpoints.list(run.id))).items;
  if (waitpoint?.state !== 'open') return; // already completed
  const { token } = await ask((o) => client.waitpoints.create(run.id, { name: 'leave' }, o), `${key}-wait`);
  await ask((o) => client.waitpoints.complete(token, { given: true }, o));
});

const WITHOUT_END = { command: `${SAYS_ITS_NONCE}; sleep 3600`, timeoutSeconds: 3_600 };

/** Cancels the running process; its output is still fetched. */
export const CANCEL_A_RUN = oneRun(WITHOUT_END, 'cancelled', undefined, async ({ client }, { id, state }) => {
  if (state !== 'running') return;
  const { bytes } = await ask(() => client.runs.output(id));
  if ((await text(bytes)) !== '') await ask((o) => client.runs.cancel(id, o));
});

/** Cancels during the start: steps are undone, and the process is not started, or ended. */
export const CANCEL_A_START = oneRun(WITHOUT_END, 'cancelled', undefined, async ({ client }, { id, attempts }) => {
  const [attempt] = attempts;
  if (!attempt) return;
  const { items } = await ask(() => client.listSandboxes({ limit: 20 }));
  if (!items.some((each) => each.id === attempt.sandboxId && each.hostId !== null)) return; // nothing to undo
  await ask((o) => client.runs.cancel(id, o));
});
