import { text } from 'node:stream/consumers';
import type { Run } from '../../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { ask } from '../asking.ts';
import { noncesIn } from './nonce.ts';

/** Counts of function runs; summed over all cells of a matrix. */
export interface Account {
  /** Run ids returned to callers. */
  accepted: number;
  runs: number;
  startedAttempts: number;
  /** Nonces of started processes. */
  nonces: number;
  /** Started attempts with an unknown outcome, whose output may be missing. */
  unheard: number;
  ended: number;
  proofs: number;
}

const NOTHING: Account = {
  accepted: 0,
  runs: 0,
  startedAttempts: 0,
  nonces: 0,
  unheard: 0,
  ended: 0,
  proofs: 0,
};

export function sumOf(accounts: readonly Account[]): Account {
  const sum = { ...NOTHING };
  for (const account of accounts) {
    for (const name of Object.keys(sum) as (keyof Account)[]) sum[name] += account[name];
  }
  return sum;
}

/** Outcomes of a process that ended on its own, with complete output. */
const HEARD: readonly unknown[] = ['succeeded', 'failed', 'timed-out'];

/** Record of what one cell was answered about functions, to compare with the actual runs. */
export class Ledger {
  readonly #functions = new Set<string>();
  readonly #accepted = new Set<string>();

  get isEmpty(): boolean {
    return this.#functions.size === 0;
  }

  deployed(name: string): void {
    this.#functions.add(name);
  }

  /** Records a run id that was returned to a caller. */
  accepted(runId: string): void {
    this.#accepted.add(runId);
  }

  /**
   * Checks that accepted ids are runs, started attempts have one nonce each, and ended runs have a proof. @throws Error
   * otherwise
   */
  async account(client: MayflyClient): Promise<Account> {
    const account = { ...NOTHING, accepted: this.#accepted.size };
    const nonces: string[] = [];
    for (const name of this.#functions) {
      const { items } = await ask(() => client.runs.list({ function: name, limit: 100 }));
      for (const { id } of items) {
        if (!this.#accepted.has(id)) throw new Error(`${id} is a run that nobody was told of`);
        const run = await ask(() => client.runs.get(id));
        account.runs++;
        if (run.state !== 'ended') throw new Error(`${id} is ${run.state}`);
        account.ended++;
        if (run.cleanup !== (run.attempts.length === 0 ? 'none' : 'proved')) throw new Error(`${id}: ${run.cleanup}`);
        account.proofs++;
        for (const attempt of run.attempts) nonces.push(...(await this.#attempted(client, run, attempt, account)));
      }
    }
    if (account.runs !== account.accepted) throw new Error(`${account.accepted} accepted, and ${account.runs} runs`);
    if (new Set(nonces).size !== nonces.length) throw new Error(`a nonce twice: ${nonces.join(', ')}`);
    return { ...account, nonces: nonces.length };
  }

  async #attempted(
    client: MayflyClient,
    { id }: Run,
    { n, outcome, startedAt }: Run['attempts'][number],
    account: Account,
  ): Promise<string[]> {
    const said = outcome === 'not-started' ? [] : await noncesOf(client, id, n);
    const isStarted = said.length > 0 || HEARD.includes(outcome) || startedAt !== null;
    if (!isStarted) return [];
    account.startedAttempts++;
    if (said.length === 1) return said;
    if (said.length > 1 || HEARD.includes(outcome)) {
      throw new Error(`attempt ${n} of ${id} is ${outcome}: ${said.length} processes`);
    }
    account.unheard++;
    return [];
  }
}

async function noncesOf(client: MayflyClient, id: string, attempt: number): Promise<string[]> {
  try {
    const { bytes } = await ask(() => client.runs.output(id, { attempt }));
    return noncesIn(await text(bytes));
  } catch (error) {
    if (error instanceof MayflyApiError && error.status === 404) return []; // no command was started
    throw error;
  }
}
