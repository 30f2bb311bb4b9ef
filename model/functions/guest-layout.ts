/** Folder with a process's inputs and outputs; owned by its user. */
export const GUEST_FOLDER = '/var/lib/mayfly-run';
/** Files of the function; working directory of the process. */
export const FILES_FOLDER = `${GUEST_FOLDER}/files`;
const EVENT_FILE = `${GUEST_FOLDER}/event.json`;
/** Folder that is collected after the process ends. */
const OUT_FOLDER = `${GUEST_FOLDER}/out`;
export const RESULT_FILE = `${OUT_FOLDER}/result`;
/** A tmpfs; the agent creates it (go/agent/commands/secrets.go) and removes it after the process ends. */
const SECRETS_FOLDER = '/run/mayfly-secrets';
export const ARTIFACTS_FOLDER = `${OUT_FOLDER}/artifacts`;

/** Returns a run's folder for waitpoint requests and deliveries, relative to {@link GUEST_FOLDER}. */
export function waitpointsFolder(runId: string): string {
  return `waitpoints/${runId}`;
}
/** Program that registers a waitpoint and waits for it. */
export const WAIT_FILE = 'mayfly-wait';

/** Media type of a result without a declared type. */
export const DEFAULT_RESULT_TYPE = 'application/json';

interface RunVariables {
  runId: string;
  attempt: number;
  /** ISO 8601. */
  deadline: string;
  /** Run whose event is replayed; null: no replay. */
  replayOf: string | null;
  hasSecretFiles: boolean;
}

/** Builds the environment of a process. */
export function buildRunEnvironment(
  own: Readonly<Record<string, string>>,
  { runId, attempt, deadline, replayOf, hasSecretFiles }: RunVariables,
): Record<string, string> {
  return {
    ...own,
    MAYFLY_EVENT: EVENT_FILE,
    MAYFLY_RESULT: RESULT_FILE,
    MAYFLY_ARTIFACTS: ARTIFACTS_FOLDER,
    ...(hasSecretFiles && { MAYFLY_SECRETS: SECRETS_FOLDER }),
    MAYFLY_WAITPOINTS: `${GUEST_FOLDER}/${waitpointsFolder(runId)}`,
    MAYFLY_WAIT: `${GUEST_FOLDER}/${WAIT_FILE}`,
    MAYFLY_RUN_ID: runId,
    MAYFLY_ATTEMPT: String(attempt),
    MAYFLY_DEADLINE: deadline,
    ...(replayOf !== null && { MAYFLY_REPLAY_OF: replayOf }),
  };
}
