import { Hono } from 'hono';
import { expect, it } from 'vitest';
import type { Env, RequestDeps } from '../../../api/http/context.ts';
import { endOfRun } from '../../../api/runs/run-schemas.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { RunWatch } from '../../../services/runs/run-watch.ts';

const RUN = { id: 'run-1', state: 'queued', cleanup: 'none' } as RunRecord;

/** What a request that waits is answered while its run is asked for in vain. */
async function answered(problem: MayflyError): Promise<Response> {
  const app = new Hono<Env>();
  const get = () => Promise.reject(problem);
  const deps = { store: { runs: { get } }, logger: { warn: () => undefined } } as unknown as RequestDeps;
  const watch = new RunWatch({ ends: async () => new Map() });
  app.get('/', async (c) => c.json(await endOfRun(c, deps, RUN, { watch, until: 'ended', seconds: 10 })));
  app.onError((error, c) => c.text(error.message, 500));
  return app.request('/');
}

it('is what was known of it when the store has gone away', async () => {
  const answer = await answered(new MayflyError('store_unavailable', 'away'));
  expect([answer.status, await answer.json()]).toEqual([200, RUN]);
});

it('is no answer when something else is wrong', async () => {
  expect((await answered(new MayflyError('internal', 'broken'))).status).toBe(500);
});
