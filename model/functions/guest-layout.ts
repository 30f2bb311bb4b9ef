/** Where a process finds what it is given, and leaves what it has done. Its user owns all of it. */
export const GUEST_FOLDER = '/var/lib/mayfly-run';
/** What a function brings: where its process begins. */
export const FILES_FOLDER = `${GUEST_FOLDER}/files`;
const EVENT_FILE = `${GUEST_FOLDER}/event.json`;
/** All that is fetched when it has ended. */
const OUT_FOLDER = `${GUEST_FOLDER}/out`;
export const RESULT_FILE = `${OUT_FOLDER}/result`;
/** A tmpfs, which the agent makes (go/agent/commands/secrets.go) and removes when the process has ended. */
const SECRETS_FOLDER = '/run/mayfly-secrets';
export const ARTIFACTS_FOLDER = `${OUT_FOLDER}/artifacts`;

/** Where the processes of a run ask for waitpoints, and find what came for them: below the folder of all, without its path. */
export function waitpointsOf(runId: string): string {
  return `waitpoints/${runId}`;
}
/** The program that asks, and waits. */
export const WAIT_FILE = 'mayfly-wait';

/** What an event is without a word about it. */
export const DEFAULT_RESULT_TYPE = 'application/json';

interface Told {
  runId: string;
  attempt: number;
  /** ISO 8601 */
  deadline: string;
  /** The run whose event it has; null: it is its own. */
  replayOf: string | null;
  hasSecretFiles: boolean;
}

/** Environment of a process. */
export function runEnvironment(
  own: Readonly<Record<string, string>>,
  { runId, attempt, deadline, replayOf, hasSecretFiles }: Told,
): Record<string, string> {
  return {
    ...own,
    MAYFLY_EVENT: EVENT_FILE,
    MAYFLY_RESULT: RESULT_FILE,
    MAYFLY_ARTIFACTS: ARTIFACTS_FOLDER,
    ...(hasSecretFiles && { MAYFLY_SECRETS: SECRETS_FOLDER }),
    MAYFLY_WAITPOINTS: `${GUEST_FOLDER}/${waitpointsOf(runId)}`,
    MAYFLY_WAIT: `${GUEST_FOLDER}/${WAIT_FILE}`,
    MAYFLY_RUN_ID: runId,
    MAYFLY_ATTEMPT: String(attempt),
    MAYFLY_DEADLINE: deadline,
    ...(replayOf !== null && { MAYFLY_REPLAY_OF: replayOf }),
  };
}
