import { afterAll, beforeAll, expect, test } from 'vitest';
import { BadNetwork } from '../../../clients/typescript/scenarios/bad-network.ts';
import { commands } from '../../../clients/typescript/scenarios/commands.ts';
import { files } from '../../../clients/typescript/scenarios/files.ts';
import list from '../../../clients/typescript/scenarios/list.json' with { type: 'json' };
import { sandboxes } from '../../../clients/typescript/scenarios/sandboxes.ts';
import { Stage } from '../../../clients/typescript/scenarios/stage.ts';
import { Installation } from '../../../docs/page-walk.ts';

const scenarios = { ...sandboxes, ...commands, ...files };
let here: Installation | undefined;
let network: BadNetwork | undefined;
let stage: Stage | undefined;

beforeAll(async () => {
  here = await Installation.start();
  network = await BadNetwork.before(here.url);
  stage = new Stage(network.url, here.env['MAYFLY_API_KEY'] ?? '');
});
afterAll(async () => {
  await stage?.end();
  await network?.stop();
  await here?.end();
});

// Promise: each client passes the shared list of scenarios, with a real server behind a failing network. Costs 40 s.
for (const { n, must } of list) {
  test(`${n}: ${must}`, async () => {
    if (!stage) throw new Error('nothing was started');
    await stage.network();
    await scenarios[n]?.(stage);
  });
}

test('the list is complete', () => {
  expect(Object.keys(scenarios).map(Number)).toEqual(list.map(({ n }) => n));
});
