import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { Comparison } from '../../services/diff/comparison.ts';
import { pathsIn } from '../../services/diff/diff-paths.ts';
import { changesAsLines, changesAsTar, listChanges } from '../../services/diff/listed-changes.ts';
import { primedStream } from '../../services/streams/streams.ts';
import { actorOf, type Env, type RequestDeps } from '../http/context.ts';
import { problemOf } from '../http/problem.ts';
import { type Route, routeOf } from '../http/route.ts';
import { RUNNING, SAGA } from '../http/schemas.ts';
import { diffAnswer, diffLine, diffParams, diffQuery, fileAnswer } from './diff-schemas.ts';

const route = routeOf('snapshots');

const TAR = 'application/x-tar';
const NDJSON = 'application/x-ndjson';

type Query = z.output<typeof diffQuery>;

export const diffRoutes: Route[] = [
  route('diffSnapshots', 'get', '/v1/snapshots/{a}/diff/{b}', {
    scope: 'sandboxes:read',
    summary: 'What changed between two snapshots, or since one',
    description:
      'From `a` to `b`, whichever is older; also of two sandboxes, where their snapshots are on one host. `current` needs the ' +
      'scope `sandboxes:write`: the sandbox is snapshotted for it, and that snapshot removed again.',
    in: { params: diffParams, query: diffQuery },
    out: {
      200: {
        description: 'All changes counted and the first of them; all of them; an archive to carry away; or one file',
        content: {
          'application/json': { schema: diffAnswer.or(fileAnswer) },
          [NDJSON]: { schema: diffLine },
          [TAR]: { schema: { type: 'string', format: 'binary' } },
        },
      },
    },
    problems: [
      SAGA,
      RUNNING,
      'sandbox_busy',
      'snapshot_not_found',
      'snapshot_not_ready',
      'snapshot_failed',
      'diff_failed',
      'host_disk_full',
      'file_not_found',
      'too_many_requests',
      'quota_exceeded',
    ],
    handle: ({ c, deps, params: { a, b }, query }) => {
      // HEAD would cost as much as GET.
      if (c.req.method === 'HEAD') throw new MayflyError('method_not_allowed', 'A comparison takes GET.');
      return answerDiff(c, deps, a, b, query);
    },
  }),
];

async function answerDiff(c: Context<Env>, deps: RequestDeps, a: string, b: string, query: Query): Promise<Response> {
  const { signal } = c.req.raw;
  const [file] = pathsIn(c.req.url, 'file');
  const within = pathsIn(c.req.url, 'path');
  const { format = 'json', limit = LIMITS.diff.changes.default } = query;
  const how = file ? { format: 'file' as const, paths: [file] } : { format, paths: within };
  const asker = { key: c.get('apiKey'), actor: actorOf(c), signal, requestId: c.get('requestId') };
  const comparison = await Comparison.begin(deps, asker, { a, b, ...how });
  if (how.format === 'tar') return streamResponse(await primedStream(changesAsTar(comparison, within)), TAR);
  if (how.format === 'ndjson') {
    const lineOptions = { ...deps, signal, problemOf: (error: MayflyError) => problemOf(c, error) };
    return streamResponse(await primedStream(changesAsLines(comparison, within, lineOptions)), NDJSON);
  }
  try {
    if (!file) return c.json(await listChanges(deps.store, comparison, within, limit), 200);
    return c.json(fileAnswer.parse(await (await comparison.ask('file', 'path', [file])).json()), 200);
  } finally {
    await comparison.close();
  }
}

function streamResponse(body: ReadableStream<Uint8Array>, type: string): Response {
  // Browsers never render it as a page of the API's origin.
  return new Response(body, { headers: { 'Content-Type': type, 'X-Content-Type-Options': 'nosniff' } });
}
