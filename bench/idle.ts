import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findConnection } from '../cli/terminal/connection.ts';
import { MayflyApiError } from '../client/http/api-error.ts';
import type { Sandbox } from '../client/http/openapi.ts';
import { MayflyClient } from '../client/mayfly-client.ts';
import type { Config } from '../worker/config/config.ts';
import { round, Samples, type Spread, spreadOf } from './measure/measure.ts';
import { type Usage, usageOf } from './measure/processes.ts';

const MAYFLY = fileURLToPath(new URL('../bin/mayfly', import.meta.url));
/** After the last create, until what it left to do is done. Milliseconds. */
const SETTLE_MS = 60_000;
const AT_ONCE = 10;
const CREATES = 10;

export interface IdleOptions {
  source: string;
  /** Runs of the CLI, and starts of all of Mayfly. */
  runs: { cli: number; up: number };
  /** How many sandboxes do nothing, in rising order. */
  sandboxes: readonly number[];
  /** How long they do nothing. */
  seconds: number;
}

/** All of Mayfly beside sandboxes that do nothing. */
interface IdleCost {
  sandboxes: number;
  /** Of one core: the process `mayfly up`, its children that ended, Temporal and the store. Guests and libvirtd are not in it. */
  corePercent: number;
  residentMib: number;
  processes: { name: string; corePercent: number; childrenPercent: number; residentMib: number }[];
  /** A create beside them; null where the host simulates nothing, or none was asked for. */
  create: Spread | null;
}

export interface IdleFigures {
  /** Of the CLI, and of an empty Node beside it. */
  cli: Record<string, Spread>;
  /** `mayfly up` until its API answers, on a state folder that has been used. */
  up: Spread;
  idle: IdleCost[];
}

/** What Mayfly costs when nothing happens, in processes of its own. Leaves no sandbox behind. */
export async function measureIdle(config: Config, options: IdleOptions): Promise<IdleFigures> {
  const env = { ...process.env, MAYFLY_HOST: config.hostKind, MAYFLY_TEMPLATES: 'off' };
  const starts: number[] = [];
  await (await Up.start(env)).stop(); // makes the folder, as the first one ever
  for (let run = 1; run < options.runs.up; run++) {
    const up = await Up.start(env);
    starts.push(up.startMs);
    await up.stop();
  }
  const up = await Up.start(env);
  starts.push(up.startMs);
  try {
    const cli = await measureCli(env, options.runs.cli);
    const idle = await measureCosts(up, config.hostKind === 'simulated', options);
    return { cli, up: spreadOf(starts), idle };
  } finally {
    await up.stop();
  }
}

async function measureCli(env: NodeJS.ProcessEnv, runs: number): Promise<IdleFigures['cli']> {
  const samples = new Samples();
  const run = promisify(execFile);
  for (let i = 0; i < runs; i++) {
    await samples.time('node -e 0', () => run(process.execPath, ['-e', '0'], { env }));
    await samples.time('mayfly --version', () => run(process.execPath, [MAYFLY, '--version'], { env }));
    await samples.time('mayfly sandbox list', () => run(process.execPath, [MAYFLY, 'sandbox', 'list'], { env }));
  }
  return samples.spreads();
}

async function measureCosts(up: Up, simulated: boolean, options: IdleOptions): Promise<IdleCost[]> {
  const { client } = up;
  const made: Sandbox[] = [];
  const costs: IdleCost[] = [];
  try {
    for (const sandboxes of [0, ...options.sandboxes]) {
      while (made.length < sandboxes) {
        const more = Math.min(AT_ONCE, sandboxes - made.length);
        made.push(...(await Promise.all(Array.from({ length: more }, () => create(client, options.source)))));
      }
      if (sandboxes > 0) await sleep(SETTLE_MS);
      const cost = sandboxes > 0 ? await costOver(up, options.seconds) : null;
      const creates = simulated ? await timeCreates(client, options.source) : null;
      costs.push({ sandboxes, corePercent: 0, residentMib: 0, processes: [], ...cost, create: creates });
    }
  } finally {
    for (let i = 0; i < made.length; i += AT_ONCE) {
      const some = made.slice(i, i + AT_ONCE);
      await Promise.all(some.map(({ id }) => client.destroySandbox(id, { waitSeconds: 240 })));
    }
  }
  return costs;
}

async function timeCreates(client: MayflyClient, source: string): Promise<Spread> {
  const samples: number[] = [];
  for (let i = 0; i < CREATES; i++) {
    const began = performance.now();
    const { id } = await create(client, source);
    samples.push(performance.now() - began);
    await client.destroySandbox(id, { waitSeconds: 240 });
  }
  return spreadOf(samples);
}

/** Among 1,000 two have the same MAC, of 24 bits, in one run of 30: the second is refused, and is asked for again. */
async function create(client: MayflyClient, source: string): Promise<Sandbox> {
  const ask = () => client.createSandbox({ source }, { waitSeconds: 240 });
  const sandbox = await ask().catch((error: unknown) => {
    if (error instanceof MayflyApiError && error.code === 'address_conflict') return ask();
    throw error;
  });
  if (sandbox.state === 'running') return sandbox;
  throw new Error(`${sandbox.id} is ${sandbox.state}: there is nothing to measure`);
}

async function costOver({ pid }: Up, seconds: number): Promise<Omit<IdleCost, 'sandboxes' | 'create'>> {
  const before = await usageOf(pid);
  await sleep(seconds * 1_000);
  const after = await usageOf(pid);
  const percent = (name: string, of: 'cpuSeconds' | 'childrenCpuSeconds') => {
    const at = (usage: Usage[]) => usage.find((one) => one.name === name)?.[of] ?? 0;
    return round((100 * (at(after) - at(before))) / seconds);
  };
  const processes = after.map(({ name, residentMib }) => ({
    name,
    corePercent: percent(name, 'cpuSeconds'),
    childrenPercent: percent(name, 'childrenCpuSeconds'),
    residentMib: Math.round(residentMib),
  }));
  const sum = (values: number[]) => round(values.reduce((total, value) => total + value, 0));
  return {
    corePercent: sum(processes.map((one) => one.corePercent + one.childrenPercent)),
    residentMib: sum(processes.map((one) => one.residentMib)),
    processes,
  };
}

/** `mayfly up` as a person starts it. */
class Up {
  private constructor(
    private readonly child: ChildProcess,
    readonly client: MayflyClient,
    readonly startMs: number,
  ) {}

  static async start(env: NodeJS.ProcessEnv): Promise<Up> {
    const began = performance.now();
    const child = spawn(process.execPath, [MAYFLY, 'up', '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const _ready of createInterface({ input: child.stdout })) {
      const startMs = performance.now() - began;
      child.stdout.resume();
      const { apiUrl: baseUrl, apiKey } = findConnection(env);
      return new Up(child, new MayflyClient({ baseUrl, apiKey }), startMs);
    }
    throw new Error('`mayfly up` ended before it was ready');
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }
}
