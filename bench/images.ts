import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Image } from '../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../clients/typescript/mayfly-client.ts';
import { isImageFinal } from '../model/image/image.ts';
import { type Bench, WAIT, withSandbox } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';

const POLL_MS = 250;
/** Step that writes a file, the same as by hand. */
const STEP = 'head -c 100000 /dev/urandom >"/srv/$(date +%N)"';
const STEPS = 5;
/** Divisor of the number of rounds: builds take seconds each. */
const SHARE = 10;

/** Measures builds: a repeated build against the first, and a step against a command and a snapshot by hand. */
export async function measureImages(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  const rounds = { runs: Math.max(2, Math.ceil(bench.runs / SHARE)), warmUp: 0 };
  await samples.rounds(rounds, (counted) => measureBuilds(bench, counted));
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'an image of known steps', ours: 'second build', beside: 'first build', most: { times: 0.1 } },
      { what: 'a step of an image', ours: 'step', beside: 'command and snapshot', most: { times: 1.2 } },
    ],
  };
}

async function measureBuilds(bench: Bench, samples: Samples): Promise<void> {
  const { client, source } = bench;
  const mark = `ENV RUN_OF=${randomBytes(6).toString('hex')}`;
  const dockerfile = [`FROM ${source}`, mark, ...Array<string>(STEPS).fill(`RUN ${STEP}`)].join('\n');
  const first = await samples.time('first build', () => build(client, dockerfile));
  const again = await samples.time('second build', () => build(client, dockerfile));
  if (again.cached !== again.steps.length) throw new Error(`${again.id} had steps to do`);
  // Recorded times, from snapshot to snapshot: polling would slow the steps.
  const { items } = await client.snapshots.list(first.builderId);
  const ends = items.map(({ readyAt }) => Date.parse(readyAt ?? '')).sort((one, other) => one - other);
  if (ends.length < STEPS) throw new Error(`${first.id} has ${ends.length} snapshots`);
  for (const [nth, end] of ends.slice(1, STEPS).entries()) samples.add('step', end - (ends[nth] ?? end));
  await withSandbox(bench, async ({ id }) => {
    const byHand = async () => {
      await client.commands.run(id, { command: STEP, user: 'root' }, WAIT);
      return client.snapshots.take(id, {}, WAIT);
    };
    await byHand(); // the first creates a disk of its own
    for (let nth = 1; nth < STEPS; nth++) await samples.time('command and snapshot', byHand);
    await deleteSnapshots(client, id);
  });
  for (const { name } of [first, again]) await client.sources.delete(name, WAIT);
  await deleteSnapshots(client, first.builderId);
}

async function build({ images }: MayflyClient, dockerfile: string): Promise<Image> {
  const name = `bench-${randomBytes(4).toString('hex')}`;
  let image = await images.build({ name, dockerfile });
  for (; !isImageFinal(image.state); await sleep(POLL_MS)) image = await images.get(image.id);
  if (image.state === 'ready') return image;
  throw new Error(`${name} is ${image.state}: ${image.failure?.message}`);
}

/** Deletes the newest first: others refer to those below them. */
async function deleteSnapshots(client: MayflyClient, sandboxId: string): Promise<void> {
  const { items } = await client.snapshots.list(sandboxId);
  for (const { id } of items) await client.snapshots.delete(id, WAIT);
}
