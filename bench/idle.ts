import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findConnection } from '../cli/terminal/connection.ts';
import { MayflyClient } from '../clients/typescript/mayfly-client.ts';
import { createRunning, destroy, type Extent } from './support/bench.ts';
import { type Figures, round, Samples } from './support/measure.ts';
import { type Usage, usageOf } from './support/processes.ts';

const MAYFLY = fileURLToPath(new URL('../bin/mayfly', import.meta.url));
/** Time after the last create for its remaining work, ms. */
const SETTLE_MS = 60_000;
const AT_ONCE = 10;
const CREATES = 10;

/** Measures the cost of an idle Mayfly, in processes of its own. Leaves no sandbox behind. */
export async function measureIdle({ config, source, isSimulated, isQuick }: Extent): Promise<Figures> {
  const env = { ...process.env, MAYFLY_HOST: config.hostKind, MAYFLY_TEMPLATES: 'off' };
  const samples = new Samples();
  await (await Up.start(env)).stop(); // creates the folder, as the first start
  const start = () => samples.time('mayfly up, until its API answers', () => Up.start(env));
  for (let run = 1; run < (isQuick ? 1 : 5); run++) await (await start()).stop();
  const up = await start();
  const lines: string[] = [];
  const made: string[] = [];
  const bench = { client: up.client, source };
  try {
    for (const sandboxes of [0, 4, ...(isSimulated && !isQuick ? [1_000] : [])]) {
      while (made.length < sandboxes) {
        const more = Array.from({ length: Math.min(AT_ONCE, sandboxes - made.length) }, () => createRunning(bench));
        made.push(...(await Promise.all(more)).map(({ id }) => id));
      }
      if (sandboxes > 0) {
        await sleep(SETTLE_MS);
        lines.push(`${sandboxes} sandboxes that do nothing: ${await costOver(up, isQuick ? 15 : 60)}`);
      }
      if (!isSimulated) continue;
      await samples.rounds({ runs: CREATES, warmUp: 0 }, async (counted) => {
        const { id } = await counted.time(`a create beside ${sandboxes}`, () => createRunning(bench));
        await destroy(bench, id);
      });
    }
  } finally {
    for (let first = 0; first < made.length; first += AT_ONCE)
      await Promise.all(made.slice(first, first + AT_ONCE).map((id) => destroy(bench, id)));
    await up.stop();
  }
  return { spreads: samples.spreads(), lines };
}

/**
 * Returns the usage of all of Mayfly during a time: `mayfly up`, Temporal and the store, without guests and libvirtd.
 */
async function costOver({ pid }: Up, seconds: number): Promise<string> {
  const before = await usageOf(pid);
  await sleep(seconds * 1_000);
  const after = await usageOf(pid);
  const secondsOf = (usage: Usage[], of: string) => usage.find(({ name }) => name === of)?.cpuSeconds ?? 0;
  const each = after.map(({ name, residentMib }) => ({
    name,
    residentMib,
    percent: round((100 * (secondsOf(after, name) - secondsOf(before, name))) / seconds),
  }));
  const percent = round(each.reduce((sum, one) => sum + one.percent, 0));
  const mib = each.reduce((sum, one) => sum + one.residentMib, 0);
  const parts = each.map((one) => `${one.name} ${one.percent} %, ${one.residentMib} MiB`);
  return `${percent} % of a core, ${mib} MiB (${parts.join('; ')})`;
}

/** Process of `mayfly up` as a person starts it. */
class Up {
  private constructor(
    private readonly child: ChildProcess,
    readonly client: MayflyClient,
  ) {}

  static async start(env: NodeJS.ProcessEnv): Promise<Up> {
    const child = spawn(process.execPath, [MAYFLY, 'up', '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const _ready of createInterface({ input: child.stdout })) {
      child.stdout.resume();
      const { apiUrl: baseUrl, apiKey } = findConnection(env);
      return new Up(child, new MayflyClient({ baseUrl, apiKey }));
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
