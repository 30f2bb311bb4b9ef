import { Hono } from 'hono';
import { expect, it } from 'vitest';
import type { Env, RequestDeps } from '../../../api/http/context.ts';
import { endOfRun } from '../../../api/runs/run-schemas.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { RunWatch } from '../../../services/runs/run-watch.ts';

const RUN = { id: 'run-1', state: 'queued', cleanup: 'none' } as RunRecord;

/** Returns the answer to a waiting request when reading the run fails. */
async function answered(problem: MayflyError): Promise<Response> {
  const app = new Hono<Env>();
  const get = () => Promise.reject(problem);
  const deps = { store: { runs: { get } }, logger: { warn: () => undefined } } as unknown as RequestDeps;
  const watch = new RunWatch({ ends: async () => new Map() });
  app.get('/', async (c) => c.json(await endOfRun(c, deps, RUN, { watch, until: 'ended', seconds: 10 })));
  app.onError((error, c) => c.text(error.message, 500));
  return app.request('/');
}

it('the answer is the last known state when the store is unavailable', async () => {
  const answer = await answered(new MayflyError('store_unavailable', 'away'));
  expect([answer.status, await answer.json()]).toEqual([200, RUN]);
});

it('the answer is an error on any other failure', async () => {
  expect((await answered(new MayflyError('internal', 'broken'))).status).toBe(500);
});
