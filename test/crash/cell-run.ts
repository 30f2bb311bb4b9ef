import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACTS } from './acts.ts';
import type { Agreement } from './agreement.ts';
import type { Outcome } from './asking.ts';
import { type Cell, nameOf } from './cells.ts';
import { cleared } from './clearing.ts';
import type { Account, Ledger } from './functions/ledger.ts';
import { stoppedOf } from './part.ts';
import { SeededRandom } from './random.ts';
import { Stage } from './stage.ts';
import { strike, type Victim } from './victims.ts';

export type Verdict = 'green' | 'red' | 'none';

export interface CellResult {
  cell: string;
  verdict: Verdict;
  /** Final answer to the user. */
  outcome: Outcome;
  /** Reason of a failure, or why no such cell exists; else empty. */
  why: string;
  seed: string;
  seconds: number;
  /** Counts of its runs; only for functions. */
  account?: Account;
}

/** Victims that may make the sandbox or a step fail; the user gets the failure. */
const MAY_FAIL: ReadonlySet<Victim> = new Set<Victim>(['machine', 'disk-full', 'libvirtd']);
/** From the kill to the last answer, ms. */
const ENDS_WITHIN_MS = 240_000;
const AGREES_WITHIN_MS = 60_000;
/** Longest delay between the point and the kill, and longest downtime, ms. */
const LATEST_MS = 60;
const LONGEST_DOWN_MS = 800;
/** Time for the process to reach the last point, after the caller has its answer, ms. */
const SEEN_FIRST_MS = 3_000;

/** Runs one cell: the saga ends, and host, store and Temporal agree, before and after the clean-up. */
export async function runCell(stage: Stage, agreement: Agreement, cell: Cell, seed: string): Promise<CellResult> {
  const began = performance.now();
  const about = { cell: nameOf(cell), seed };
  const seconds = () => Math.round((performance.now() - began) / 100) / 10;
  let outcome: Outcome = '';
  try {
    const { told, ledger } = await struck(stage, cell, seed);
    if (told === null) {
      await settled(stage, agreement);
      return { ...about, verdict: 'none', outcome, why: `no ${cell.victim} at this point`, seconds: seconds() };
    }
    outcome = told;
    refuseSurprise(cell, outcome);
    await stage.mayfly.ready();
    await agreement.holds('what is alive', AGREES_WITHIN_MS);
    const account = ledger.isEmpty ? {} : { account: await ledger.account(stage.client) };
    await settled(stage, agreement);
    return { ...about, verdict: 'green', outcome, why: '', seconds: seconds(), ...account };
  } catch (error) {
    return {
      ...about,
      verdict: 'red',
      outcome,
      why: error instanceof Error ? error.message : String(error),
      seconds: seconds(),
    };
  }
}

interface Struck {
  /** Answer to the request; null when the point has no such victim. */
  told: Outcome | null;
  ledger: Ledger;
}

async function struck({ mayfly, ...rest }: Stage, cell: Cell, seed: string): Promise<Struck> {
  const stage = new Stage(mayfly, rest.made);
  const random = new SeededRandom(seed, nameOf(cell));
  const act = ACTS[cell.saga];
  const ids = await act.prepare(stage);
  await mayfly.arm([cell.fault, `${cell.point}=1*stop`].filter((part) => part !== '').join(';'));
  const key = randomUUID();
  const acting = act.run(stage, ids, key);
  acting.catch(() => undefined); // awaited below
  const again: Promise<Outcome>[] = [];
  let hasStruck: boolean;
  try {
    const over = acting.then(
      () => sleep(SEEN_FIRST_MS),
      () => sleep(SEEN_FIRST_MS),
    );
    const at = await stoppedOf([mayfly.parts.host, mayfly.parts.control], over);
    if (!at) throw new Error(`${cell.point} was never reached: ${await acting}`);
    await mayfly.arm('');
    await sleep(random.below(LATEST_MS));
    const downMs = random.below(LONGEST_DOWN_MS);
    hasStruck = await strike(cell.victim, { mayfly, at, downMs, again: () => again.push(act.run(stage, ids, key)) });
  } finally {
    await mayfly.arm('');
    for (const part of mayfly.all) if (part.isStopped) part.send('SIGCONT');
  }
  const [outcome, ...others] = await within(Promise.all([acting, ...again]), ENDS_WITHIN_MS, 'the saga did not end');
  const different = others.find((other) => other !== outcome);
  if (different !== undefined) throw new Error(`the same request was told ${outcome}, and then ${different}`);
  const told = hasStruck ? (outcome ?? '') : null;
  return { told, ledger: stage.ledger };
}

/** Throws on an unexpected outcome: a killed process excuses no failure, and a saga with a fault must fail. */
function refuseSurprise({ saga, fault, victim }: Cell, outcome: Outcome): void {
  if (saga === 'forget' && victim === 'all' && outcome === 'host_alive') return; // repeated after the host was back
  if (fault !== '' && outcome === 'done') throw new Error(`done, though ${fault}`);
  if (fault === '' && outcome !== 'done' && !MAY_FAIL.has(victim)) throw new Error(`told: ${outcome}`);
}

async function settled(stage: Stage, agreement: Agreement): Promise<void> {
  await stage.mayfly.ready();
  await within(cleared(stage), ENDS_WITHIN_MS, 'what was made cannot be taken away');
  await agreement.holds('nothing', AGREES_WITHIN_MS);
}

async function within<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what} within ${ms / 1_000} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
