import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Command } from '../../../clients/typescript/http/openapi.ts';
import { ServedMayfly } from '../../support/served.ts';

/** A line a tenth of a second for 10 s, to a file and to both streams; the last ten not before they are asked for. */
const SCRIPT = `i=0
while [ $i -lt 100 ]; do
  i=$((i+1)); echo "line $i" >> /tmp/lines-$NAME; echo "line $i"; echo "line $i" >&2; sleep 0.1
  [ $i -ne 90 ] || until [ -e /tmp/go ]; do sleep 0.1; done
done`;
const WANTED = Array.from({ length: 100 }, (_, n) => `line ${n + 1}\n`).join('');
const POINTS = 20;
/** How far each is when the next one is started. */
const APART = 'line 4\n';

let mayfly: ServedMayfly;
let sandboxes: string[];

beforeAll(async () => {
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  const created = Array.from({ length: 4 }, () =>
    mayfly.client.createSandbox({ source: 'golden-debian12', memoryMib: 64 }, { waitSeconds: 120 }),
  );
  sandboxes = (await Promise.all(created)).map(({ id }) => id);
});
afterAll(async () => {
  if (mayfly?.host && sandboxes) {
    await Promise.all(sandboxes.map((id) => mayfly.client.destroySandbox(id, { waitSeconds: 120 })));
  }
  await mayfly?.stop();
});

function start(n: number): Promise<Command> {
  const request = { argv: ['sh', '-c', SCRIPT], env: { NAME: String(n) } };
  return mayfly.client.commands.run(sandboxes[n % sandboxes.length] ?? '', request, { waitSeconds: 0 });
}

interface Followed {
  ended: Command;
  live: Record<'stdout' | 'stderr', string>;
}

/** Follows a command across its worker's deaths; what was told live must be whole too. */
async function followed(command: Command, begun: () => void): Promise<Followed> {
  const live = { stdout: '', stderr: '' };
  for await (const event of mayfly.client.commands.follow(command.sandboxId, command.id)) {
    if ('ended' in event) return { ended: event.ended, live };
    live[event.stream] += Buffer.from(event.bytes).toString();
    if (live.stdout.includes(APART)) begun();
  }
  throw new Error(`nothing more was told of ${command.id}`);
}

async function killAndRestart(): Promise<void> {
  expect(await mayfly.host?.end('SIGKILL')).toBe('SIGKILL');
  mayfly.startHost();
}

it(`a worker killed at ${POINTS} points of a command neither stops nor repeats it, and loses no line`, async () => {
  // One kill meets each of them at another point of its ten seconds; the second meets some again, as they are gone on with.
  const following: Promise<Followed>[] = [];
  for (let n = 0; n < POINTS; n++) {
    const command = await start(n);
    await new Promise<void>((resolve, reject) => {
      const follow = followed(command, resolve);
      follow.catch(reject);
      following.push(follow);
    });
  }
  await killAndRestart();
  await mayfly.host?.line('goes on with');
  await killAndRestart();
  await Promise.all(sandboxes.map((id) => mayfly.client.commands.run(id, { argv: ['touch', '/tmp/go'] })));

  for (const [n, { ended, live }] of (await Promise.all(following)).entries()) {
    expect(ended, `command ${n}`).toMatchObject({ outcome: 'exited', exitCode: 0 });
    for (const stream of ['stdout', 'stderr'] as const) {
      expect(await text(await mayfly.client.commands.output(ended.sandboxId, ended.id, stream))).toBe(WANTED);
      expect(live[stream]).toBe(WANTED);
    }
    const cat = await mayfly.client.commands.run(ended.sandboxId, { argv: ['cat', `/tmp/lines-${n}`] });
    expect(await text(await mayfly.client.commands.output(cat.sandboxId, cat.id, 'stdout'))).toBe(WANTED);
  }
});
