import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, type ReplayWorkerOptions, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleWorkflows } from '../../worker/bundle.ts';

/**
 * Recorded lives of sandboxes, replayed against today's workflows without a server. A failure means that a sandbox
 * which is running now could not go on after an upgrade: version the change with `patched`, and keep the history.
 * New histories: `MAYFLY_RECORD_HISTORIES=1 npm test -- test/workflows`.
 */
const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url));
const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.json'));

Runtime.install({ logger: new DefaultLogger('ERROR') });

let options: ReplayWorkerOptions;
beforeAll(async () => {
  options = { workflowBundle: await bundleWorkflows(new DefaultLogger('ERROR')) };
});

async function recorded(name: string): Promise<string> {
  return readFile(new URL(`../histories/${name}`, import.meta.url), 'utf8');
}

test('the ways a sandbox, a command, a snapshot and a capture can live are all recorded', () => {
  expect(names.sort()).toEqual([
    'asked-for-template.json',
    'bake-failed.json',
    'baked-by-copy.json',
    'baked.json',
    'capture-deleted.json',
    'capture-failed.json',
    'capture.json',
    'claimed-of-shared.json',
    'claimed.json',
    'cleanup-that-waits.json',
    'command-cancelled.json',
    'command.json',
    'create-failed.json',
    'deleted-while-creating.json',
    'deleted-while-frozen.json',
    'deleted-while-hibernating.json',
    'deleted-while-saving.json',
    'deleted.json',
    'dispatcher.json',
    'events.json',
    'fork.json',
    'idle-after-use.json',
    'idle.json',
    'machine-crashed.json',
    'machine-end-misreported.json',
    'member-retired.json',
    'members-gave-way.json',
    'multi-step-create-failed.json',
    'multi-step-deleted-while-creating.json',
    'multi-step-deleted.json',
    'multi-step-no-room.json',
    'multi-step-passed-over.json',
    'multi-step-proposed.json',
    'name-refused.json',
    'named.json',
    'no-room.json',
    'patched.json',
    'playbook-cancelled.json',
    'playbook-unaudited.json',
    'playbook.json',
    'pool-changed.json',
    'pool-degraded.json',
    'pool-deleted.json',
    'pool-gave-way.json',
    'refused-source-delete.json',
    'refused.json',
    'run-cancelled.json',
    'run-retried.json',
    'run.json',
    'snapshot-deleted.json',
    'snapshot-passed-by-time.json',
    'snapshot-passed.json',
    'source-delete-refused.json',
    'source-deleted.json',
    'source-started.json',
    'source-stop-failed.json',
    'source-stop-forced.json',
    'taken-over-while-saving.json',
    'taken-over.json',
    'template-builder.json',
    'template-deleted.json',
    'template-failed.json',
    'template.json',
    'ttl.json',
  ]);
});

describe('replayed by one worker', () => {
  const replayed = new Map<string, Error | undefined>();

  beforeAll(async () => {
    const histories = await Promise.all(
      names.map(async (name) => ({ workflowId: name, history: historyFromJSON(JSON.parse(await recorded(name))) })),
    );
    for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
      replayed.set(workflowId, error);
  });

  test.each(names)('%s goes the way it went', (name) => {
    expect(replayed.has(name)).toBe(true);
    expect(replayed.get(name)).toBeUndefined();
  });
});

test.each([
  ['deleted.json', 'cloneDisk'],
  ['multi-step-deleted.json', 'prepare'],
])('a workflow that would take another step than the one in %s is found', async (name, step) => {
  const other = (await recorded(name)).replaceAll(`"${step}"`, '"copyDisk"');
  await expect(Worker.runReplayHistory(options, historyFromJSON(JSON.parse(other)))).rejects.toMatchObject({
    name: 'DeterminismViolationError',
  });
});
