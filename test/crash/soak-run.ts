/** Runs the soak in its own place; started by soak.ts, to which it sends the report. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { MayflyProcess } from '../support/mayfly-process.ts';
import type { Agreement } from './agreement.ts';
import { ask, WAIT } from './asking.ts';
import type { HostKind } from './cells.ts';
import { Memory } from './memory.ts';
import { SeededRandom } from './random.ts';
import { type Standing, standUp } from './standing.ts';

export interface SoakSettings {
  root: string;
  kind: HostKind;
  seed: string;
  minutes: number;
  sandboxes: number;
  /** Average seconds between two kills. */
  killSeconds: number;
}

export interface SoakReport {
  faults: string[];
  lines: string[];
}

/** Concurrent users: each creates, uses and destroys one sandbox after another. */
const USERS: Record<HostKind, number> = { simulated: 24, libvirt: 2 };
const AGREES_WITHIN_MS = 120_000;
const SAID_EVERY_MS = 30_000;

class Soak {
  readonly #over = new AbortController();
  readonly #counts = { created: 0, failed: 0, destroyed: 0, commands: 0, kills: 0 };
  readonly #faults: string[] = [];
  readonly #memory: Memory;
  readonly #random: SeededRandom;

  constructor(
    private readonly standing: Standing,
    private readonly settings: SoakSettings,
  ) {
    this.#memory = new Memory(standing.stage.mayfly.all);
    this.#random = new SeededRandom(settings.seed, 'kills');
  }

  end(): void {
    this.#over.abort();
  }

  async run(): Promise<SoakReport> {
    const began = Date.now();
    const limit = setTimeout(() => this.end(), this.settings.minutes * 60_000);
    const said = setInterval(() => this.#say(began), SAID_EVERY_MS);
    const users = Array.from({ length: USERS[this.settings.kind] }, () => this.#user());
    const killing = this.#kill();
    await Promise.all(users);
    this.end();
    await killing;
    clearTimeout(limit);
    clearInterval(said);
    await this.#judge(this.standing.agreement);
    return { faults: this.#faults, lines: this.#report(Date.now() - began) };
  }

  async #user(): Promise<void> {
    while (!this.#over.signal.aborted && this.#counts.created < this.settings.sandboxes) {
      this.#counts.created++;
      await this.#life().catch((error: unknown) => this.#faults.push(`a life: ${String(error)}`));
    }
  }

  async #life(): Promise<void> {
    const { client, made } = this.standing.stage;
    try {
      const { id } = await ask((o) =>
        client.createSandbox({ ...made, ...('source' in made && { memoryMib: 64 }), ttlSeconds: 3_600 }, o),
      );
      try {
        await ask((o) => client.commands.run(id, { argv: ['true'] }, o));
        this.#counts.commands++;
      } finally {
        for (;;) if (isFinal((await ask(() => client.destroySandbox(id, WAIT))).state)) break;
        this.#counts.destroyed++;
      }
    } catch (error) {
      if (!(error instanceof MayflyApiError)) throw error;
      if (error.problem.sandboxId === undefined) throw new Error(`${error.code}: ${error.message}`, { cause: error });
      this.#counts.failed++;
    }
  }

  async #kill(): Promise<void> {
    const { all } = this.standing.stage.mayfly;
    const signal = this.#over.signal;
    while (!signal.aborted) {
      await sleep(this.#random.below(2_000 * this.settings.killSeconds), undefined, { signal }).catch(() => undefined);
      const part = all[this.#random.below(all.length)];
      if (signal.aborted || !part) return;
      this.#memory.look();
      await part.down();
      await sleep(this.#random.below(1_000));
      part.up();
      this.#counts.kills++;
    }
  }

  async #judge(agreement: Agreement): Promise<void> {
    const { mayfly } = this.standing.stage;
    await mayfly.ready();
    await agreement.holds('nothing', AGREES_WITHIN_MS).catch((error: Error) => this.#faults.push(error.message));
    const { created, destroyed, failed } = this.#counts;
    if (created !== destroyed + failed)
      this.#faults.push(`${created} were asked for, ${destroyed} destroyed, ${failed} failed`);
    const ended = await agreement.endedSandboxes();
    if (ended < destroyed) this.#faults.push(`${destroyed} were destroyed, the store knows of ${ended} that ended`);
    const told = await metricOf(mayfly.apiUrl, this.standing);
    if (told !== ended) this.#faults.push(`/metrics tells of ${told} that ended, the store of ${ended}`);
    const env = { MONGODB_URI: mayfly.storeUri, MAYFLY_STATE_DIR: `${this.settings.root}/run/control` };
    const audit = new MayflyProcess(['audit', 'verify'], env);
    if ((await audit.end()) !== 0) this.#faults.push(`the audit does not verify: ${audit.output.slice(-2_000)}`);
    this.#faults.push(...this.#memory.faults());
  }

  #say(began: number): void {
    this.#memory.look();
    const { created, destroyed, failed, kills } = this.#counts;
    const minutes = ((Date.now() - began) / 60_000).toFixed(1);
    process.stdout.write(
      `${minutes} min  ${created} asked for  ${destroyed} destroyed  ${failed} failed  ${kills} kills  ${this.#faults.length} faults\n`,
    );
  }

  #report(ms: number): string[] {
    const { created, destroyed, failed, commands, kills } = this.#counts;
    const { all } = this.standing.stage.mayfly;
    return [
      `seed ${this.settings.seed}, ${(ms / 60_000).toFixed(1)} min: ${created} sandboxes asked for, ${destroyed} destroyed, ${failed} failed, ${commands} commands, ${kills} kills`,
      `ended though nobody had killed them: ${all.map(({ name, endedByItself }) => `${name} ${endedByItself}`).join(', ')}`,
      ...this.#memory.lines(),
      ...(this.#faults.length === 0 ? ['no fault'] : this.#faults.map((fault) => `FAULT ${fault}`)),
    ];
  }
}

/** Returns the number of ended sandboxes in /metrics. */
async function metricOf(url: string, { stage }: Standing): Promise<number> {
  const { secret } = await stage.client.createKey({ name: 'soak', scopes: ['sandboxes:read'] });
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${secret}` } });
  const text = await answer.text();
  return [...text.matchAll(/^mayfly_sandboxes\{state="(?:destroyed|failed)"\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

const settings = JSON.parse(process.argv[2] ?? '') as SoakSettings;
const standing = await standUp(`${settings.root}/run`, settings.kind, null);
try {
  const soak = new Soak(standing, settings);
  process.on('message', () => soak.end());
  const report = await soak.run();
  await new Promise((resolve) => process.send?.(report, resolve));
} finally {
  await standing.end();
  process.disconnect();
}
