import { text } from 'node:stream/consumers';
import { ask } from '../asking.ts';
import { SAYS_ITS_NONCE } from './nonce.ts';
import { oneRun } from './program.ts';

/** One event is one run, and its attempt one started process; its result is fetched, and nothing of its sandbox is left. */
export const RUN_A_FUNCTION = oneRun(
  { command: `${SAYS_ITS_NONCE}; echo '"done"' > $MAYFLY_RESULT` },
  'succeeded with a result',
  ({ outcome, result }) => `${outcome} ${result ? 'with a result' : 'without one'}`,
);

/** Its first attempt asks for another: two sandboxes, and a process in each. */
export const RETRY_A_RUN = oneRun(
  {
    command: `${SAYS_ITS_NONCE}; [ $MAYFLY_ATTEMPT = 2 ] || exit 75`,
    idempotent: true,
    retry: { maxAttempts: 2, on: [], backoff: { initialSeconds: 0 } },
  },
  'succeeded, 2 attempts',
  ({ outcome, attempts }) => `${outcome}, ${attempts.length} attempts`,
);

/** What its process has left is kept, and what it has changed is told. */
export const KEEP_WHAT_FAILED = oneRun(
  { command: `${SAYS_ITS_NONCE}; exit 3`, keep: { onFailure: 'disk' }, diff: true },
  'failed, kept, told',
  ({ outcome, kept, diff }) => {
    const why = [kept?.failure, diff?.failure].flatMap((failure) => failure?.message ?? []).join('; ');
    const isTold = diff?.digest || diff?.failure?.code === 'host_unavailable'; // away for longer than a step waits for it
    return `${outcome}, ${kept?.snapshotId ? 'kept' : 'not kept'}, ${isTold ? 'told' : `not compared: ${why}`}`;
  },
);

const WAITING = { command: `${SAYS_ITS_NONCE}; "$MAYFLY_WAIT" leave --timeout 3600`, timeoutSeconds: 3_600 };

/** Its process waits for data from outside, gets it, and goes on. */
export const WAIT_AT_A_WAITPOINT = oneRun(WAITING, 'succeeded', undefined, async ({ client }, run, key) => {
  if (run.waitingFor !== 'waitpoint') return;
  const [waitpoint] = (await ask(() => client.waitpoints.list(run.id))).items;
  if (waitpoint?.state !== 'open') return; // it is given on
  const { token } = await ask((o) => client.waitpoints.create(run.id, { name: 'leave' }, o), `${key}-wait`);
  await ask((o) => client.waitpoints.complete(token, { given: true }, o));
});

const WITHOUT_END = { command: `${SAYS_ITS_NONCE}; sleep 3600`, timeoutSeconds: 3_600 };

/** Its process is ended, and what it has left is fetched all the same. */
export const CANCEL_A_RUN = oneRun(WITHOUT_END, 'cancelled', undefined, async ({ client }, { id, state }) => {
  if (state !== 'running') return;
  const { bytes } = await ask(() => client.runs.output(id));
  if ((await text(bytes)) !== '') await ask((o) => client.runs.cancel(id, o));
});

/** What was begun is undone, and no process is started, or it is ended. */
export const CANCEL_A_START = oneRun(WITHOUT_END, 'cancelled', undefined, async ({ client }, { id, attempts }) => {
  const [attempt] = attempts;
  if (!attempt) return;
  const { items } = await ask(() => client.listSandboxes({ limit: 20 }));
  if (!items.some((each) => each.id === attempt.sandboxId && each.hostId !== null)) return; // there is nothing to undo
  await ask((o) => client.runs.cancel(id, o));
});
