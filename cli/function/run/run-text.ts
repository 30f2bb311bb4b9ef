import type { Run } from '../../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../../model/limits.ts';
import { size } from '../../snapshot/snapshot-text.ts';
import { between, duration } from '../../terminal/arguments.ts';
import { EXIT } from '../../terminal/cli-error.ts';
import { type Io, printable, recordLines } from '../../terminal/io.ts';

export const RUN_HEADER = ['ID', 'FUNCTION', 'STATE', 'ATTEMPTS', 'TOOK', 'ACCEPTED', 'INPUT', 'RESULT'];
/** Maximum characters of a content in a line of a list. */
const SHOWN = 40;

export function runRow(run: Run): string[] {
  const { id, function: name, version, attempts, startedAt, endedAt, acceptedAt } = run;
  const took = startedAt && endedAt ? duration(between(startedAt, endedAt)) : '';
  const { input = null, result = null } = run.contents ?? {};
  const contents = [summarizeContent(input, run.eventBytes), summarizeContent(result, run.result?.bytes ?? 0)];
  return [id, `${name}@${version}`, stateOf(run), String(attempts.length), took, acceptedAt, ...contents];
}

/** Returns the beginning of a content, or its size if the list omits it. */
function summarizeContent(content: unknown, bytes: number): string {
  if (content === null || content === undefined) return bytes > LIMITS.functions.listedBytes ? size(bytes) : '';
  const text = printable(JSON.stringify(content));
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`;
}

/** Returns the outcome of a run, or its progress. */
export function stateOf({ state, outcome, waitingFor, skippedFor }: Run): string {
  if (skippedFor !== null) return `${outcome}: ${skippedFor}`;
  return outcome ?? (waitingFor ? `${state}, waits for ${waitingFor}` : state);
}

/** Formats a run's outcome after its id, with the failure. */
export function outcomeOf(run: Run): string {
  return printable(`${run.id} ${stateOf(run)}${run.failure ? `: ${run.failure.message}` : ''}`);
}

/** Returns the exit code of a command that waited for the run. */
export function exitCodeOfRun({ outcome }: Run): number {
  if (outcome === 'succeeded') return EXIT.ok;
  return outcome === 'timed-out' ? EXIT.waitedTooLong : EXIT.failed;
}

const CLEANUP: Record<Run['cleanup'], string> = {
  none: 'nothing is left: it never had a machine',
  pending: 'something of its machine may be left still',
  proved: 'nothing of its machines is left',
  unproved: 'a host was forgotten, and nobody can look there',
};

export function cleanupOf({ cleanup }: Run): string {
  return CLEANUP[cleanup];
}

/** Describes the retained snapshot; null: retention is not configured. */
function formatRetained({ kept }: Run): string | null {
  if (!kept) return null;
  if (kept.snapshotId === null) return `nothing: ${kept.failure?.message ?? ''} (${kept.failure?.code ?? ''})`;
  return kept.goneAt === null ? `${kept.snapshotId} until ${kept.until}` : `nothing: deleted at ${kept.goneAt}`;
}

function changedBy({ diff }: Run): string | null {
  if (!diff) return null;
  if (!diff.counts) return `not known: ${diff.failure?.message ?? ''} (${diff.failure?.code ?? ''})`;
  const { added, changed, removed, renamed } = diff.counts;
  return `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`;
}

export function runLines(io: Io, run: Run): string[] {
  const { event, exitCode, signal, failure, result, cancelledBy, dueAt } = run;
  const fields: [string, string | null][] = [
    ['function', `${run.function} version ${run.version}`],
    ['state', stateOf(run)],
    ['instead', run.supersededBy],
    ['replay of', run.replayOf],
    ['redrive of', run.redriveOf],
    ['redriven', run.redrivenAs && `as ${run.redrivenAs}`],
    ['batch', run.batch],
    ['events', run.events.map(({ runId }) => runId).join(' ')],
    ['failure', failure && `${failure.message} (${failure.code})`],
    ['exit', exitCode === null ? signal : String(exitCode)],
    ['cleanup', cleanupOf(run)],
    ['event', `${event.type} ${event.id} from ${event.source}, ${size(run.eventBytes)}`],
    ['accepted', run.acceptedAt],
    ['due', dueAt],
    ['expires', run.startedAt ? null : run.expiresAt],
    ['started', run.startedAt],
    ['ended', run.endedAt],
    ['result', result && `${result.contentType}, ${size(result.bytes)}${result.partial ? ', partial' : ''}`],
    ['kept', formatRetained(run)],
    ['changed', changedBy(run)],
    ['cancelled', cancelledBy && `by ${cancelledBy.apiKeyId}`],
  ];
  return [
    ...recordLines(io, run.id, fields, 11),
    ...run.attempts.map((attempt) => `  ${printable(attemptLine(attempt, run.state))}`),
    ...run.artifacts.map(({ path, bytes }) => `  artifact   ${printable(path)}, ${size(bytes)}`),
  ];
}

type Attempt = Run['attempts'][number];

/** @param state state of the run, shown for an attempt without an outcome */
function attemptLine({ n, sandboxId, outcome, startedAt, endedAt, failure }: Attempt, state: Run['state']): string {
  const took = startedAt && endedAt ? `, ${duration(between(startedAt, endedAt))}` : '';
  const how = outcome ?? state;
  return `attempt ${n}  ${sandboxId}  ${how}${took}${failure ? `: ${failure.message}` : ''}`;
}
