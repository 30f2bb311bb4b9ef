import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Image } from '../../client/http/openapi.ts';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { isImageOver } from '../../model/image/image.ts';
import type { Samples } from '../measure/measure.ts';

interface ImagesBench {
  client: MayflyClient;
  source: string;
  runs: number;
}

const WAIT = { waitSeconds: 240 };
const LOOK_MS = 250;
/** Each writes a file, as what is done by hand does. */
const STEP = 'head -c 100000 /dev/urandom >"/srv/$(date +%N)"';
const STEPS = 5;
/** Builds take seconds each, so that a tenth of what others are measured is enough. */
const SHARE = 10;

/** `ours`: all steps are known, and the source has another name; `beside`: the first build of the same. */
export async function cachedImage(bench: ImagesBench, samples: Samples): Promise<void> {
  for (const { dockerfile } of dockerfilesOf(bench)) {
    const first = await samples.time('beside', () => built(bench.client, dockerfile));
    const again = await samples.time('ours', () => built(bench.client, dockerfile));
    if (again.cached !== again.steps.length) throw new Error(`${again.id} had steps to do`);
    await forget(bench.client, [first, again]);
  }
}

/**
 * `ours`: from the moment at which the snapshot of one step was ready to that of the next, as they are recorded: who asked all the
 * time would slow it; `beside`: the same command and a snapshot in a sandbox.
 */
export async function imageStep(bench: ImagesBench, samples: Samples): Promise<void> {
  const { client, source } = bench;
  for (const { dockerfile } of dockerfilesOf(bench)) {
    const image = await built(client, dockerfile);
    const { items } = await client.snapshots.list(image.builderId);
    const ends = items.map(({ readyAt }) => Date.parse(readyAt ?? '')).sort((one, other) => one - other);
    if (ends.length < STEPS) throw new Error(`${image.id} has ${ends.length} snapshots`);
    for (const [nth, end] of ends.slice(1, STEPS).entries()) samples.add('ours', end - (ends[nth] ?? end));
    const { id } = await client.createSandbox({ source }, WAIT);
    for (let nth = 0; nth < STEPS; nth++) {
      const byHand = async () => {
        await client.commands.run(id, { command: STEP, user: 'root' }, WAIT);
        return client.snapshots.take(id, {}, WAIT);
      };
      await (nth === 0 ? byHand() : samples.time('beside', byHand)); // the first has a disk of its own to make
    }
    await client.destroySandbox(id, WAIT);
    await forgetSnapshots(client, id);
    await forget(client, [image]);
  }
}

function dockerfilesOf({ source, runs }: ImagesBench): { dockerfile: string }[] {
  return Array.from({ length: Math.max(2, Math.ceil(runs / SHARE)) }, () => {
    const mark = `ENV RUN_OF=${randomBytes(6).toString('hex')}`;
    return { dockerfile: [`FROM ${source}`, mark, ...Array<string>(STEPS).fill(`RUN ${STEP}`)].join('\n') };
  });
}

async function built({ images }: MayflyClient, dockerfile: string): Promise<Image> {
  const name = `bench-${randomBytes(4).toString('hex')}`;
  let image = await images.build({ name, dockerfile });
  for (; !isImageOver(image.state); await sleep(LOOK_MS)) image = await images.get(image.id);
  if (image.state === 'ready') return image;
  throw new Error(`${name} is ${image.state}: ${image.failure?.message}`);
}

async function forget(client: MayflyClient, images: readonly Image[]): Promise<void> {
  for (const { name, builderId, cached, steps } of images) {
    await client.sources.delete(name, WAIT);
    if (cached === steps.length) continue; // it has made no sandbox
    await forgetSnapshots(client, builderId);
  }
}

/** The newest first: others refer to those below them. */
async function forgetSnapshots(client: MayflyClient, sandboxId: string): Promise<void> {
  const { items } = await client.snapshots.list(sandboxId);
  for (const { id } of items) await client.snapshots.delete(id, WAIT);
}
