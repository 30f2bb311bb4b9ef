import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Command } from '../../../clients/typescript/http/openapi.ts';
import { ServedMayfly } from '../../support/served.ts';
import { tier } from '../../support/sweep.ts';

const SANDBOXES = tier() === 'all' ? 20 : 4;
const FEW = 40;
const MANY = 200;
const LINES = 10_000;
/** Permitted growth of the worker after the same load on a small scale, MiB. */
const GROWTH_MIB = 150;

let mayfly: ServedMayfly;
let sandboxes: string[];

beforeAll(async () => {
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  const created = Array.from({ length: SANDBOXES }, () =>
    mayfly.client.createSandbox({ source: 'golden-debian12', memoryMib: 64 }, { waitSeconds: 120 }),
  );
  sandboxes = (await Promise.all(created)).map(({ id }) => id);
});
afterAll(async () => {
  await Promise.all((sandboxes ?? []).map((id) => mayfly.client.destroySandbox(id, { waitSeconds: 120 })));
  await mayfly?.stop();
});

/** Writes single lines, every tenth to stderr. */
const SCRIPT = `i=0
while [ $i -lt ${LINES} ]; do
  i=$((i+1))
  if [ $((i % 10)) -eq 0 ]; then echo "line $i" >&2; else echo "line $i"; fi
done`;

function written(stream: 'stdout' | 'stderr'): string {
  const lines = Array.from({ length: LINES }, (_, n) => n + 1).filter((n) => (n % 10 === 0) === (stream === 'stderr'));
  return lines.map((n) => `line ${n}\n`).join('');
}

async function ended(command: Command): Promise<Command> {
  for await (const event of mayfly.client.commands.follow(command.sandboxId, command.id)) {
    if ('ended' in event) return event.ended;
  }
  throw new Error(`nothing more was told of ${command.id}`);
}

async function run(count: number): Promise<void> {
  const { commands } = mayfly.client;
  const started = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      commands.run(sandboxes[n % SANDBOXES] ?? '', { argv: ['sh', '-c', SCRIPT] }, { waitSeconds: 0 }),
    ),
  );
  const wanted = { stdout: written('stdout'), stderr: written('stderr') };
  for (const command of started) {
    expect(await ended(command)).toMatchObject({ outcome: 'exited', exitCode: 0 });
    for (const stream of ['stdout', 'stderr'] as const) {
      const stored = await text(await commands.output(command.sandboxId, command.id, stream));
      expect(stored === wanted[stream], `${stream} of ${command.id}`).toBe(true);
    }
  }
}

async function areNotLost(count: number): Promise<void> {
  await run(SANDBOXES); // the worker keeps connections and code of the first load
  const before = mayfly.host?.residentMib() ?? 0;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, mayfly.host?.residentMib() ?? 0);
  }, 100);
  const began = performance.now();
  await run(count);
  clearInterval(watch);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  process.stderr.write(`${count} commands in ${seconds} s; worker ${before.toFixed(0)} to ${most.toFixed(0)} MiB\n`);
  expect(most - before).toBeLessThan(GROWTH_MIB);
}

it(`${FEW} commands over ${SANDBOXES} sandboxes: nothing is lost, and the worker stays small`, () => areNotLost(FEW));
it(`${MANY} commands over ${SANDBOXES} sandboxes`, () => areNotLost(MANY), 600_000);
