import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { functionVersion, RUN_ID, runRecord } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { eventually } from '../support/eventually.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

// `mayfly dev` against a stand-in for the API. Two seconds.

const server = useStandIn();
const folder = useFolder();

const asked = ({ method, path }: Seen) => `${method} ${path.replace(RUN_ID, 'RUN')}`;
const count = (request: string) => server.seen.filter((seen) => asked(seen) === request).length;
const ended = runRecord({ state: 'ended', outcome: 'failed', cleanup: 'proved' });

test('a change of the folder starts a new run; a change or Ctrl-C cancels a running one', async () => {
  const controller = new AbortController();
  let isCancelled = false;
  server.answers((seen, response) => {
    if (asked(seen) === 'POST /v1/runs/RUN/cancel') isCancelled = true;
    if (asked(seen) === 'POST /v1/functions/fn/runs') isCancelled = false;
    if (seen.method === 'PUT') answerJson(response, 201, functionVersion);
    else answerJson(response, 200, isCancelled ? ended : runRecord());
  });
  await writeFile(join(folder, 'mayfly.json'), '{"name":"fn","source":"web-1","argv":["./main.sh"]}');
  await writeFile(join(folder, 'main.sh'), 'true');
  const line = runLine(server, ['dev', folder], { controller });
  for (let runs = 1; runs <= 3; runs++) {
    await eventually(
      async () => count('GET /v1/runs/RUN'),
      () => count('POST /v1/functions/fn/runs') === runs,
    );
    if (runs < 3) await writeFile(join(folder, 'main.sh'), `exit ${runs}`);
  }
  controller.abort();
  expect((await line).code).toBe(130);
  expect([count('PUT /v1/functions/fn'), count('POST /v1/runs/RUN/cancel')]).toEqual([3, 3]);
});

test('a failed deployment is reported, and fixed by the next change', async () => {
  const controller = new AbortController();
  server.answers((seen, response) => answerJson(response, 201, seen.method === 'PUT' ? functionVersion : ended));
  await writeFile(join(folder, 'mayfly.json'), '{"name":"fn"}');
  const line = runLine(server, ['dev', folder], { controller });
  await eventually(async () => count('POST /v1/functions/fn/runs'), 1);
  await writeFile(join(folder, 'mayfly.json'), '{"name":');
  await writeFile(join(folder, 'mayfly.json'), '{"name":"fn","source":"web-1"}');
  await eventually(async () => count('POST /v1/functions/fn/runs'), 2);
  controller.abort();
  expect((await line).code).toBe(130);
  expect((await runLine(server, ['dev', join(folder, 'nowhere')])).code).toBe(2);
});
