import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { Pool } from '../../client/pools.ts';
import type { Template } from '../../client/templates.ts';
import type { BootWay } from '../../model/sandbox/boot.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { bootText } from '../sandbox/sandbox-text.ts';
import { CliError } from '../terminal/cli-error.ts';
import { between, duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** Of a template and a pool. Milliseconds. */
const LOOK_MS = 100;
const POOL = 'demo';

/** How a sandbox came to its machine, as its caller saw it. Milliseconds. */
export interface Way {
  record: SandboxRecord;
  /** From the request to the answer that it runs. */
  createMs: number;
  /** From then to the end of its first command. */
  commandMs: number;
}

/** A first command in it. @throws CliError when it is not answered by that sandbox */
export async function firstUse(io: Io, client: MayflyClient, record: SandboxRecord, createMs: number): Promise<Way> {
  const began = performance.now();
  const { exitCode } = await client.commands.run(record.id, { argv: ['true'] }, { signal: io.signal });
  if (exitCode !== 0) throw new CliError(EXIT.failed, `${record.id} did not run \`true\``, `exit ${exitCode}`, '');
  return { record, createMs, commandMs: performance.now() - began };
}

/** That which a sandbox that booted has had made. @returns null where there is none: its boot, or this, says why */
export async function templateAfter(io: Io, client: MayflyClient, cold: SandboxRecord): Promise<Template | null> {
  if (cold.boot?.why !== 'no_template') {
    io.print(`  none is made here: ${cold.boot?.why ?? 'this host makes none'}`);
    return null;
  }
  for (;;) {
    const { items } = await client.templates.list({ signal: io.signal });
    const template = items.find(({ state }) => state === 'ready' || state === 'failed');
    if (template) {
      const { state, reason, createdAt, readyAt } = template;
      const took = readyAt === null ? printable(reason ?? '') : `after ${duration(between(createdAt, readyAt))}`;
      io.print(`  the template that the first has had made is ${state} ${took}`);
      return state === 'ready' ? template : null;
    }
    io.noteForNow(`  the template is ${items[0]?.state ?? 'begun'} …`);
    await sleep(LOOK_MS, undefined, { signal: io.signal });
  }
}

/** Returns when a pool makes its only member. */
export async function beginPool(io: Io, client: MayflyClient, source: string): Promise<void> {
  await client.pools.set(POOL, { source, min: 1, max: 1 }, { signal: io.signal });
  await untilPool(io, client, ({ members }) => members.length > 0);
}

/** Returns when that is ready. */
export async function poolFilled(io: Io, client: MayflyClient): Promise<void> {
  await untilPool(io, client, ({ members }) => members.some(({ state }) => state === 'warm'));
}

/** @throws CliError with why it can't be filled */
async function untilPool(io: Io, client: MayflyClient, reached: (pool: Pool) => boolean): Promise<void> {
  for (;;) {
    const pool = await client.pools.get(POOL, { signal: io.signal });
    if (reached(pool)) return;
    if (pool.state === 'degraded') {
      throw new CliError(EXIT.failed, 'The pool has none ready', printable(pool.reason ?? ''), 'Run `mayfly doctor`.');
    }
    io.noteForNow('  the pool makes its member …');
    await sleep(LOOK_MS, undefined, { signal: io.signal });
  }
}

/** @param wanted how it must come to its machine @throws CliError when it came otherwise */
export async function createAndUse(io: Io, client: MayflyClient, source: string, wanted: BootWay): Promise<Way> {
  const began = performance.now();
  const wish = { source, ...(wanted === 'template' && { boot: wanted }) };
  const record = await client.createSandbox(wish, { waitSeconds: 240, signal: io.signal });
  const createMs = performance.now() - began;
  const said = bootText(record.boot ?? null) ?? record.state;
  if (record.boot?.way !== wanted) {
    throw new CliError(EXIT.failed, `${record.id} did not come to its machine as it should`, said, 'Report this.');
  }
  io.print(`  ${record.id} runs after ${duration(createMs)}: ${printable(said)}`);
  return firstUse(io, client, record, createMs);
}

/** Returns when pool and template are gone. */
export async function endMakers(io: Io, client: MayflyClient, template: Template | null): Promise<void> {
  const options = { waitSeconds: 120, signal: io.signal };
  await Promise.all([
    client.pools.delete(POOL, options),
    ...(template === null ? [] : [client.templates.delete(template.id, options)]),
  ]);
}
