import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { entriesOf } from '../../../host/os/directory.ts';
import type { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { isStopped } from '../../../host/simulated/machine/processes.ts';
import { CapturedSource, expectFailed } from '../../support/captured-source.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Runs the captures of test/workflows/capture.integration.test.ts with suspended processes and copied files. */
const { alone } = useSagaCases();

const hypervisor = ({ host }: MayflyCase) => host?.machine.hypervisor as SimulatedHypervisor;

const test = alone.extend<{ source: CapturedSource; image: string }>({
  source: async ({ mayfly }, use) => {
    const source = new CapturedSource(mayfly);
    await hypervisor(mayfly).runningSources.make(source.name);
    await hypervisor(mayfly).runningSources.start(source.name);
    await use(source);
    mayfly.disarm();
    await source.clear();
    await hypervisor(mayfly).runningSources.stop(source.name);
  },
  image: async ({ mayfly, source }, use) => {
    const folder = join(mayfly.config.stateDir, 'images', source.name);
    await writeFile(join(folder, 'root', 'root-was-here'), source.name);
    await use(folder);
  },
});

async function moves(mayfly: MayflyCase, { name }: CapturedSource, image: string): Promise<boolean> {
  const pids = await hypervisor(mayfly).runningSources.processesOf(name);
  expect(pids.length).toBeGreaterThan(0);
  const isNoted = (await entriesOf(image))?.includes('stopped.json') ?? false;
  return !pids.some(isStopped) && !isNoted;
}

test.concurrent('a running source is captured, cloned from its newest capture, and the capture deleted', async ({
  mayfly,
  source,
  image,
}) => {
  const { name } = source;
  const before = await source.taken();
  expect(before).toMatchObject({ state: 'ready', failure: null, createdBy: { apiKeyId: 'test' } });
  expect(before.saved).toMatchObject({ quiesced: true, parentId: null, disks: [{ target: 'root' }] });
  await writeFile(join(image, 'root', 'root-was-here'), 'later');
  expect(await source.onHost()).toEqual([{ captureId: before.id, state: 'whole' }]);
  expect(await source.reserved()).toEqual([]);
  expect(await moves(mayfly, source, image)).toBe(true);

  const sandbox = await mayfly.create(mayfly.input({ source: name, captureId: before.id }));
  expect(sandbox).toMatchObject({ state: 'running', spec: { source: name, captureId: before.id } });
  const file = join(mayfly.config.stateDir, 'sandboxes', sandbox.id, 'root', 'root-was-here');
  expect(await readFile(file, 'utf8')).toBe(name);

  expect(await source.ended(await source.begin('delete', before.id))).toMatchObject({ state: 'deleted' });
  expect(await source.onHost()).toEqual([]);
  expect(await source.audit()).toEqual(['capture.requested', 'capture.ready', 'capture.deleting', 'capture.deleted']);
  const next = await mayfly.create(mayfly.input({ source: name, captureId: before.id }));
  expect(next).toMatchObject({ state: 'failed', failure: { code: 'capture_not_ready' } });
});

test('a second capture is refused during a capture, the same id joins it; a stopped source is not captured', async ({
  mayfly,
  source,
}) => {
  const id = source.newId();
  mayfly.arm('awaitCapture.during=hang', id);
  await source.begin('create', id);
  await source.begin('create', id);
  await expect(source.begin('create')).rejects.toMatchObject({
    code: 'source_busy',
    message: expect.stringContaining(id),
  });
  await expect(source.begin('delete', id)).rejects.toMatchObject({ code: 'source_busy' });
  const making = join(mayfly.config.stateDir, 'captures', `${id}.new`, 'root');
  await eventually(
    () => source.onHost(),
    (captures) => captures.some(({ state }) => state === 'half'),
  );
  const input = mayfly.input({ source: source.name, captureId: id });
  expect(await mayfly.create(input)).toMatchObject({ state: 'failed', failure: { code: 'capture_not_ready' } });
  // The host worker dies; the next one waits for the same copy.
  const attempted = await stat(making);
  await mayfly.host?.stop();
  mayfly.arm(undefined, id);
  await mayfly.startHost();
  expect(await source.ended(id)).toMatchObject({ state: 'ready' });
  const kept = join(mayfly.config.stateDir, 'captures', id, 'root');
  expect((await stat(kept)).ino).toBe(attempted.ino);

  await hypervisor(mayfly).runningSources.stop(source.name);
  expectFailed(await source.taken(), 'reserveCapture', 'source_not_running');
  await hypervisor(mayfly).runningSources.start(source.name);
});
