/** Where a process finds what it is given, and leaves what it has done. Its user owns all of it. */
export const GUEST_FOLDER = '/var/lib/mayfly-run';
/** What a function brings: where its process begins. */
export const FILES_FOLDER = `${GUEST_FOLDER}/files`;
export const EVENT_FILE = `${GUEST_FOLDER}/event.json`;
/** All that is fetched when it has ended. */
export const OUT_FOLDER = `${GUEST_FOLDER}/out`;
export const RESULT_FILE = `${OUT_FOLDER}/result`;
export const ARTIFACTS_FOLDER = `${OUT_FOLDER}/artifacts`;

/** What an event is without a word about it. */
export const DEFAULT_RESULT_TYPE = 'application/json';

/** Environment of a process. @param deadline ISO 8601 @param replayOf the run whose event it has; null: it is its own */
export function runEnvironment(
  own: Readonly<Record<string, string>>,
  { runId, attempt, deadline, replayOf }: { runId: string; attempt: number; deadline: string; replayOf: string | null },
): Record<string, string> {
  return {
    ...own,
    MAYFLY_EVENT: EVENT_FILE,
    MAYFLY_RESULT: RESULT_FILE,
    MAYFLY_ARTIFACTS: ARTIFACTS_FOLDER,
    MAYFLY_RUN_ID: runId,
    MAYFLY_ATTEMPT: String(attempt),
    MAYFLY_DEADLINE: deadline,
    ...(replayOf !== null && { MAYFLY_REPLAY_OF: replayOf }),
  };
}
