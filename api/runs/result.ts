import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { RunContent } from '../../store/functions/run-contents.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/** Never a page of ours, whatever a process has written. */
export const SAFE = {
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'private, no-cache',
};

/** The result of a run, or what there is of one. @throws MayflyError run_not_ended, run_without_result */
export async function answerResult(c: Context<Env>, deps: RequestDeps, run: RunRecord): Promise<Response> {
  if (run.state !== 'ended') throw new MayflyError('run_not_ended', `${run.id} is ${run.state}.`);
  if (!run.result) throw new MayflyError('run_without_result', `${run.id} has left no result.`);
  const { contentType, bytes, digest, partial } = run.result;
  c.header('Mayfly-Partial', String(partial));
  return contentOf(c, deps, run.id, 'result', { contentType, bytes, digest });
}

/** @throws MayflyError run_not_ended, run_without_result */
export async function answerArtifact(
  c: Context<Env>,
  deps: RequestDeps,
  run: RunRecord,
  path: string,
): Promise<Response> {
  if (run.state !== 'ended') throw new MayflyError('run_not_ended', `${run.id} is ${run.state}.`);
  const n = run.artifacts.findIndex((artifact) => artifact.path === path);
  const artifact = run.artifacts[n];
  if (!artifact) throw new MayflyError('run_without_result', `${run.id} has no artifact of that path.`);
  const { bytes, digest } = artifact;
  return contentOf(c, deps, run.id, `artifact/${n}`, { contentType: 'application/octet-stream', bytes, digest });
}

/** @throws MayflyError run_not_ended, run_without_result */
export async function answerRunDiff(c: Context<Env>, deps: RequestDeps, run: RunRecord): Promise<Response> {
  if (run.state !== 'ended') throw new MayflyError('run_not_ended', `${run.id} is ${run.state}.`);
  const { bytes = null, digest = null, failure = null } = run.diff ?? {};
  if (bytes !== null && digest !== null) {
    return contentOf(c, deps, run.id, 'diff', { contentType: 'application/x-ndjson', bytes, digest });
  }
  const why = failure ? `${failure.message} (${failure.code})` : 'its function has no `diff`, or it is being found out';
  throw new MayflyError('run_without_result', `It is not known what ${run.id} changed: ${why}.`);
}

/** Piece by piece, so that none of it is held as a whole. */
function contentOf(
  c: Context<Env>,
  { store }: RequestDeps,
  runId: string,
  content: RunContent,
  { contentType, bytes, digest }: { contentType: string; bytes: number; digest: string },
): Response {
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
  const length = { 'Content-Length': String(bytes), ETag: `"${digest}"` };
  return c.body(body, 200, { ...SAFE, ...length, 'Content-Type': contentType });
}
