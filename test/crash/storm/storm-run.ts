/** Runs the storm in its own place; started by main.ts, to which it sends the report. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../../clients/typescript/http/openapi.ts';
import { ask } from '../asking.ts';
import { Memory } from '../memory.ts';
import type { Part } from '../part.ts';
import { SeededRandom } from '../random.ts';
import { type Standing, standUp } from '../standing.ts';
import { type Counted, crowds, passedOver } from './fairness.ts';
import { type Sent, sendAll, stormOf } from './senders.ts';

export interface StormSettings {
  root: string;
  seed: string;
  seconds: number;
  /** Events per second. */
  rate: number;
  /** Number of events that run to their proofs afterwards. */
  run: number;
  keys: number;
  kills: number;
}

export interface StormReport {
  faults: string[];
  lines: string[];
}

/** Limits of the 50th and 99th percentiles of answers outside restarts, ms. */
export const MOST_MS = { p50: 20, p99: 150 };
/** Concurrent runs per key. */
const LIMIT = 2;
const LOOK_EVERY_MS = 1_000;
/** Time after a restart until connections are remade and delayed requests are answered, ms. */
const SETTLED_MS = 3_000;
const PATIENCE_MS = 120_000;
const PROVED_WITHIN_MS = 3_600_000;

class Storm {
  readonly #faults: string[] = [];
  readonly #lines: string[] = [];
  readonly #restarts: { from: number; to: number }[] = [];
  readonly #random: SeededRandom;

  constructor(
    private readonly standing: Standing,
    private readonly settings: StormSettings,
  ) {
    this.#random = new SeededRandom(settings.seed, 'storm');
  }

  async run(): Promise<StormReport> {
    for (const name of ['waits', 'runs']) await this.#deploy(name);
    const sent = await this.#storm();
    await this.standing.stage.mayfly.ready();
    await this.#judge(sent);
    if (this.settings.run > 0) await this.#prove();
    const lines = this.#faults.length === 0 ? ['no fault'] : this.#faults.map((fault) => `FAULT ${fault}`);
    return { faults: this.#faults, lines: [...this.#lines, ...lines] };
  }

  /** Deploys a paused function: the storm only stores events. */
  async #deploy(name: string): Promise<void> {
    const { client, made } = this.standing.stage;
    const concurrency = [{ limit: LIMIT, key: '/key' }];
    const spec = { ...made, memoryMib: 64, command: 'echo "$MAYFLY_RUN_ID"', concurrency };
    await client.functions.deploy(name, { ...spec, maxEventAgeSeconds: 86_400 });
    await client.functions.pause(name);
  }

  async #storm(): Promise<Sent[]> {
    const { seconds, rate, run, keys } = this.settings;
    const { mayfly, client } = this.standing.stage;
    const { secret: key } = await client.createKey({ name: 'storm', scopes: ['sandboxes:write'] });
    const memory = new Memory(mayfly.all);
    const events = stormOf(seconds * rate, this.#random);
    const began = performance.now();
    const looks = setInterval(() => memory.look(), LOOK_EVERY_MS);
    const sending = {
      rate,
      began,
      key,
      urlOf: (event: number) => `${mayfly.apiUrl}/v1/functions/${event < run ? 'runs' : 'waits'}/runs`,
      bodyOf: (event: number) =>
        JSON.stringify({
          specversion: '1.0',
          id: String(event),
          source: '/storm',
          type: 'storm.event',
          data: { n: event, key: `key-${event % keys}` },
        }),
    };
    const [sent] = await Promise.all([sendAll(events, sending), this.#restartAll(began)]);
    clearInterval(looks);
    this.#lines.push(`sent ${events.length} in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    this.#lines.push(...memory.lines());
    this.#faults.push(...memory.faults().filter((fault) => fault.startsWith('api')));
    return sent;
  }

  /** Kills the API and, once, the store, spread over the storm. */
  async #restartAll(began: number): Promise<void> {
    const { api, store } = this.standing.stage.mayfly.parts;
    const { seconds, kills } = this.settings;
    const parts = this.#random.shuffled([...Array.from({ length: kills }, () => api), store]);
    for (const [n, part] of parts.entries()) {
      const share = (n + 0.5 + this.#random.below(100) / 400) / parts.length;
      await sleep(Math.max(0, began + share * seconds * 1_000 - performance.now()));
      await this.#restart(part, began);
    }
  }

  async #restart(part: Part, began: number): Promise<void> {
    const from = performance.now() - began;
    await part.down();
    await sleep(this.#random.below(500));
    part.up();
    await this.standing.stage.mayfly.ready();
    const to = performance.now() - began;
    this.#restarts.push({ from, to: to + SETTLED_MS });
    this.#lines.push(
      `${part.name} was killed after ${(from / 1_000).toFixed(1)} s, and back in ${((to - from) / 1_000).toFixed(1)} s`,
    );
  }

  async #judge(sent: readonly Sent[]): Promise<void> {
    const runs = new Map([...(await this.#all('waits')), ...(await this.#all('runs'))].map((run) => [run.id, run]));
    const events = new Set(sent.map(({ event }) => event));
    if (runs.size !== events.size) this.#faults.push(`${events.size} events, and ${runs.size} runs`);
    const lost = sent.filter(({ event, runId }) => runs.get(runId)?.event.id !== String(event));
    if (lost.length > 0)
      this.#faults.push(`${lost.length} were answered with a run that is not there, or is another's`);
    if (new Set(sent.map(({ runId }) => runId)).size !== events.size) this.#faults.push('an event has two runs');
    const away = [...runs.values()].filter(({ state }) => state !== 'queued');
    if (away.length > 0) this.#faults.push(`${away.length} are not queued`);
    this.#lines.push(`${sent.length} answered 2xx, ${events.size} events, ${runs.size} runs`);
    this.#time(sent);
  }

  #time(sent: readonly Sent[]): void {
    const quiet = sent.flatMap(({ answered }) => {
      const isOutside = answered && this.#restarts.every(({ from, to }) => answered.to < from || answered.from > to);
      return isOutside ? [answered.to - answered.from] : [];
    });
    const sorted = quiet.toSorted((one, other) => one - other);
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
    const [p50, p99] = [at(0.5), at(0.99)];
    this.#lines.push(`outside the restarts ${sorted.length}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
    if (!(p50 <= MOST_MS.p50)) this.#faults.push(`p50 is ${p50.toFixed(1)} ms, at most ${MOST_MS.p50}`);
    if (!(p99 <= MOST_MS.p99)) this.#faults.push(`p99 is ${p99.toFixed(1)} ms, at most ${MOST_MS.p99}`);
  }

  async #prove(): Promise<void> {
    const { client } = this.standing.stage;
    const began = Date.now();
    const cancel = await ask(() => client.functions.startBulk('waits', { action: 'cancel' }));
    await ask(() => client.functions.resume('runs'));
    const isOver = ({ state, cleanup }: Run) => state === 'ended' && cleanup !== 'pending';
    for (;;) {
      const left = (await ask(() => this.#all('runs'))).filter((run) => !isOver(run)).length;
      const { endedAt } = await ask(() => client.functions.bulk('waits', cancel.id));
      if (left === 0 && endedAt !== null) break;
      if (Date.now() - began > PROVED_WITHIN_MS) throw new Error(`${left} are not over`);
      await sleep(LOOK_EVERY_MS);
    }
    const runs = await ask(() => this.#all('runs'));
    const bad = runs.filter(({ outcome, cleanup }) => outcome !== 'succeeded' || cleanup !== 'proved');
    if (bad.length > 0) this.#faults.push(`${bad.length} runs did not succeed, or are not proved`);
    const counted = await Promise.all(runs.map((run) => this.#counted(run)));
    this.#faults.push(...crowds(counted, LIMIT), ...passedOver(counted, LIMIT).slice(0, 10));
    await this.standing.agreement
      .holds('nothing', PATIENCE_MS)
      .catch((error: Error) => this.#faults.push(error.message));
    this.#lines.push(`${runs.length} ran to their proofs in ${((Date.now() - began) / 1_000).toFixed(1)} s`);
  }

  async #counted({ id, event, attempts, admittedAt, updatedAt }: Run): Promise<Counted> {
    const { client } = this.standing.stage;
    const sandboxId = attempts.at(-1)?.sandboxId ?? '';
    const { proof } = await ask(() => client.getSandbox(sandboxId));
    const begunAt = attempts.at(-1)?.begunAt ?? '';
    const alive = { from: Date.parse(begunAt), to: Date.parse(proof?.provedAt ?? updatedAt) };
    if (attempts.length !== 1) this.#lines.push(`${id} had ${attempts.length} attempts`);
    const key = `key-${Number(event.id) % this.settings.keys}`;
    return { key, alive, admitted: Date.parse(admittedAt ?? ''), freed: Date.parse(updatedAt) };
  }

  async #all(name: string): Promise<Run[]> {
    const { client } = this.standing.stage;
    const found: Run[] = [];
    for (let cursor: string | undefined; ; ) {
      const query = { function: name, limit: 200, ...(cursor !== undefined && { cursor }) };
      const { items, nextCursor } = await ask(() => client.runs.list(query));
      found.push(...items);
      if (nextCursor === null) return found;
      cursor = nextCursor;
    }
  }
}

const settings = JSON.parse(process.argv[2] ?? '') as StormSettings;
const standing = await standUp(`${settings.root}/run`, 'simulated', null);
try {
  const report = await new Storm(standing, settings).run();
  await new Promise((resolve) => process.send?.(report, resolve));
} finally {
  await standing.end();
  process.disconnect();
}
