import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { RunContent } from '../../store/functions/run-contents.ts';
import type { ServiceDeps } from '../service-deps.ts';

type Deps = Pick<ServiceDeps, 'store'>;

/** Stored content of a run, streamed. */
export interface StoredContent {
  contentType: string;
  bytes: number;
  digest: string;
  body: ReadableStream<Uint8Array>;
}

/** Reads the result of a run. @throws MayflyError run_not_ended, run_without_result */
export function readResult(deps: Deps, run: RunRecord): StoredContent {
  refuseUnlessEnded(run);
  if (!run.result) throw new MayflyError('run_without_result', `${run.id} has left no result.`);
  const { contentType, bytes, digest } = run.result;
  return contentOf(deps, run.id, 'result', { contentType, bytes, digest });
}

/** @throws MayflyError run_not_ended, run_without_result */
export function readArtifact(deps: Deps, run: RunRecord, path: string): StoredContent {
  refuseUnlessEnded(run);
  const n = run.artifacts.findIndex((artifact) => artifact.path === path);
  const artifact = run.artifacts[n];
  if (!artifact) throw new MayflyError('run_without_result', `${run.id} has no artifact of that path.`);
  const { bytes, digest } = artifact;
  return contentOf(deps, run.id, `artifact/${n}`, { contentType: 'application/octet-stream', bytes, digest });
}

/** Reads the file system changes of a run. @throws MayflyError run_not_ended, run_without_result */
export function readRunDiff(deps: Deps, run: RunRecord): StoredContent {
  refuseUnlessEnded(run);
  const { bytes = null, digest = null, failure = null } = run.diff ?? {};
  if (bytes !== null && digest !== null) {
    return contentOf(deps, run.id, 'diff', { contentType: 'application/x-ndjson', bytes, digest });
  }
  const why = failure ? `${failure.message} (${failure.code})` : 'its function has no `diff`, or it is being found out';
  throw new MayflyError('run_without_result', `It is not known what ${run.id} changed: ${why}.`);
}

/** @throws MayflyError run_not_ended */
function refuseUnlessEnded({ id, state }: RunRecord): void {
  if (state !== 'ended') throw new MayflyError('run_not_ended', `${id} is ${state}.`);
}

function contentOf(
  { store }: Deps,
  runId: string,
  content: RunContent,
  known: Omit<StoredContent, 'body'>,
): StoredContent {
  const reader = store.runContents.read(runId, content);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.next();
      if (!done) return controller.enqueue(value);
      if (value) controller.close();
      else controller.error(new Error(`${content} of ${runId} is not there any more`));
    },
    cancel: async () => void (await reader.return(false)),
  });
  return { ...known, body };
}
