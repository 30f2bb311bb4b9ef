/** Runs the upgrade in its own place; started by upgrade.ts, to which it sends the faults. */
import { text } from 'node:stream/consumers';
import { Agreement } from './agreement.ts';
import { ask, WAIT } from './asking.ts';
import { CrashInstallation } from './installation.ts';
import type { Part } from './part.ts';

interface Settings {
  root: string;
  /** `bin/mayfly` of the other version. */
  from: string;
  sandboxes: number;
}

const PATIENCE_MS = 120_000;
const ENDS_WITHIN_MS = 10_000;
const AT_ONCE = 10;
const SMALL = { source: 'golden-debian12', memoryMib: 64, ttlSeconds: 7_200 };

const { root, from, sandboxes } = JSON.parse(process.argv[2] ?? '') as Settings;
const mayfly = new CrashInstallation({ root: `${root}/run`, hostKind: 'simulated', program: from });
const faults: string[] = [];
const say = (line: string) => process.stdout.write(`${line}\n`);

async function made(): Promise<string> {
  const { id, state } = await ask((o) => mayfly.client.createSandbox(SMALL, o));
  if (state !== 'running') throw new Error(`${id} is ${state}`);
  return id;
}

/** Appends a line per acknowledged command: the file shows lost and doubled ones. */
async function written(id: string, count: number): Promise<void> {
  await ask((o) => mayfly.client.commands.run(id, { command: `echo ${count} >> ~/lines` }, o));
}

async function checked(id: string, count: number): Promise<void> {
  const { id: command } = await ask((o) => mayfly.client.commands.run(id, { command: 'cat ~/lines' }, o));
  const lines = await text(await ask(() => mayfly.client.commands.output(id, command, 'stdout')));
  const wanted = Array.from({ length: count }, (_, n) => `${n + 1}\n`).join('');
  if (lines !== wanted) faults.push(`${id} has ${JSON.stringify(lines)}, not ${JSON.stringify(wanted)}`);
}

/** Creates, uses and destroys sandboxes until aborted. @returns the number of rounds */
async function busy(until: AbortSignal): Promise<number> {
  let rounds = 0;
  for (; !until.aborted; rounds++) {
    const id = await made();
    await written(id, 1);
    await checked(id, 1);
    await ask(() => mayfly.client.destroySandbox(id, WAIT));
  }
  return rounds;
}

async function replaced(part: Part): Promise<void> {
  const began = performance.now();
  await part.down('SIGTERM');
  const ms = performance.now() - began;
  if (ms > ENDS_WITHIN_MS) faults.push(`${part.name} took ${(ms / 1_000).toFixed(1)} s to end after SIGTERM`);
  part.up();
  await mayfly.ready();
  say(`${part.name}: replaced, ended in ${(ms / 1_000).toFixed(1)} s`);
}

async function inTurn<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  for (let n = 0; n < items.length; n += AT_ONCE) await Promise.all(items.slice(n, n + AT_ONCE).map(act));
}

await mayfly.start();
const agreement = await Agreement.open(mayfly, [{ stateDir: mayfly.hostDir(), libvirtUri: null }]);
try {
  const ids: string[] = [];
  await inTurn(Array.from({ length: sandboxes }), async () => void ids.push(await made()));
  await inTurn(ids, (id) => written(id, 1));
  let count = 1;
  for (const [name, program] of [
    ['this version', undefined],
    ['the other again', from],
  ] as const) {
    say(`to ${name}, under ${ids.length} sandboxes`);
    mayfly.program = program;
    const over = new AbortController();
    const users = Array.from({ length: 3 }, () =>
      busy(over.signal).catch((error: unknown) => void faults.push(String(error))),
    );
    for (const part of [mayfly.parts.control, mayfly.parts.host, mayfly.parts.api]) await replaced(part);
    over.abort();
    const rounds = (await Promise.all(users)).reduce<number>((sum, each) => sum + (each ?? 0), 0);
    say(`${rounds} sandboxes were made, used and destroyed meanwhile`);
    count++;
    await inTurn(ids, (id) => written(id, count));
    await inTurn(ids, (id) => checked(id, count));
    await agreement.holds('what is alive', PATIENCE_MS).catch((error: Error) => faults.push(error.message));
  }
  await inTurn(ids, async (id) => void (await ask(() => mayfly.client.destroySandbox(id, WAIT))));
  await agreement.holds('nothing', PATIENCE_MS).catch((error: Error) => faults.push(error.message));
} catch (error) {
  faults.push(error instanceof Error ? error.message : String(error));
} finally {
  await agreement.close();
  await mayfly.stop();
}
await new Promise((resolve) => process.send?.(faults, resolve));
process.disconnect();
