import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { grants } from '../../../model/scopes.ts';
import { cellText, type Row } from '../rows/section.ts';
import { liveRow, readLivePage } from '../sections/sandboxes.ts';
import { SECTIONS } from '../sections/sections.ts';
import { type Bookmark, LiveList } from './living.ts';
import type { State } from './state.ts';

/** Callbacks for results. */
interface ReaderEvents {
  rows(nth: number, rows: readonly Row[], isAll: boolean): void;
  fault(nth: number, fault: string): void;
  may(rights: Pick<State, 'mayChange' | 'mayDecide'>): void;
  /** Returns the visible sandboxes by index; null: none are. */
  visible(): { from: number; to: number } | null;
}

interface Task {
  everyMs: number;
  dueAt: number;
  /** CPU time of the last few runs, ms. */
  costs: number[];
  run(signal: AbortSignal): Promise<void>;
}

/** Index of the section of sandboxes. */
const LIVING = 0;
const SWEEP_MS = 500;
const RIGHTS_MS = 60_000;
/** Pause of a task as a multiple of its CPU time: together they use at most 3 % of a processor. */
const REST = 200;
/** Maximum pause of a task, ms, which bounds the age of the shown data. */
const LONGEST_REST_MS = 10_000;
/** Timeout of one read, ms: an API that accepts a request but never answers is down. */
const READ_MS = 10_000;
/** Maximum number of pages per read of the screen. */
const MAX_PAGES = 3;

/** Runs periodic reads in sequence, with pauses for the processor. */
export class Reader {
  readonly #client: MayflyClient;
  readonly #heard: ReaderEvents;
  readonly #living = new LiveList();
  readonly #tasks: Task[];
  #wake = new AbortController();

  constructor(client: MayflyClient, heard: ReaderEvents) {
    this.#client = client;
    this.#heard = heard;
    const others = SECTIONS.map(({ everyMs }, nth) => this.#task(everyMs, (signal) => this.#readSection(nth, signal)));
    const shown = this.#task(SECTIONS[LIVING]?.everyMs ?? SWEEP_MS, (signal) => this.#readShown(signal));
    const sweep = this.#task(SWEEP_MS, (signal) => this.#readNext(signal));
    const rights = this.#task(RIGHTS_MS, (signal) => this.#readRights(signal));
    this.#tasks = [shown, rights, ...others.slice(LIVING + 1), sweep];
  }

  /** Reads until it is stopped. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const task = this.#tasks.reduce((a, b) => (b.dueAt < a.dueAt ? b : a));
      await this.#until(task.dueAt, signal);
      if (signal.aborted) return;
      if (Date.now() < task.dueAt) continue; // another task has become due
      const before = process.cpuUsage();
      await task.run(signal);
      const { user, system } = process.cpuUsage(before);
      task.costs = [...task.costs.slice(1), (user + system) / 1_000];
      // Uses the minimum: code that runs for the first time is slow, and no reason to pause.
      const restMs = Math.min(Math.min(...task.costs) * REST, LONGEST_REST_MS);
      task.dueAt = Date.now() + Math.max(task.everyMs, restMs);
    }
  }

  /** Makes the shown part due at once after a change, and the other tasks soon. */
  nudge(): void {
    const now = Date.now();
    for (const task of this.#tasks) task.dueAt = Math.min(task.dueAt, now + (task === this.#tasks[0] ? 0 : SWEEP_MS));
    this.#wake.abort();
  }

  #task(everyMs: number, run: Task['run']): Task {
    return { everyMs, dueAt: 0, costs: [0, 0, 0, 0, 0], run };
  }

  async #until(at: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    const wake = () => this.#wake.abort();
    signal.addEventListener('abort', wake, { once: true });
    try {
      if (!signal.aborted) await sleep(Math.max(0, at - Date.now()), undefined, { signal: this.#wake.signal });
    } catch {
      // woken
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  /** Runs a read with a timeout. Reports a failure for its section. */
  async #readWithTimeout(
    nth: number,
    signal: AbortSignal,
    read: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const limited = new AbortController();
    const stop = () => limited.abort(new Error('stopped'));
    const timer = setTimeout(() => limited.abort(new Error(`no answer for ${READ_MS / 1_000} s`)), READ_MS);
    signal.addEventListener('abort', stop, { once: true });
    try {
      await read(limited.signal);
    } catch (error) {
      if (signal.aborted) return;
      const fault = cellText(error instanceof Error ? error.message : String(error));
      // An API that does not answer this read does not answer those of the other sections either.
      for (const of of limited.signal.aborted ? SECTIONS.keys() : [nth]) this.#heard.fault(of, fault);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  #readSection(nth: number, signal: AbortSignal): Promise<void> {
    return this.#readWithTimeout(nth, signal, async (limited) => {
      const found = await SECTIONS[nth]?.rows(this.#client, limited);
      if (found) this.#heard.rows(nth, found.rows, found.isAll);
    });
  }

  /** Reads the pages on the screen, or the first. */
  #readShown(signal: AbortSignal): Promise<void> {
    return this.#readWithTimeout(LIVING, signal, async (limited) => {
      const { from, to } = this.#heard.visible() ?? { from: 0, to: 0 };
      let index = from;
      for (let n = 0; n < MAX_PAGES && index <= to; n++)
        index = await this.#readPage(this.#living.pageOf(index), limited);
    });
  }

  /** Reads the page that was read the longest ago. */
  async #readNext(signal: AbortSignal): Promise<void> {
    if (this.#living.isOnePage || this.#living.items.length === 0) return; // it is on the screen already
    await this.#readWithTimeout(
      LIVING,
      signal,
      async (limited) => void (await this.#readPage(this.#living.next, limited)),
    );
  }

  /** @returns the first index after it; Infinity: it is the last */
  async #readPage(from: Bookmark, signal: AbortSignal): Promise<number> {
    const page = await readLivePage(this.#client, from.cursor, signal);
    this.#living.merge(from, page);
    this.#heard.rows(LIVING, rowsOf(this.#living.items), this.#living.isAll);
    const last = page.items.at(-1);
    return page.nextCursor === null || !last ? Number.POSITIVE_INFINITY : this.#living.items.indexOf(last) + 1;
  }

  /** Enables only the keys that the API key permits; none while its rights are unknown. */
  #readRights(signal: AbortSignal): Promise<void> {
    return this.#readWithTimeout(LIVING, signal, async (limited) => {
      const { scopes } = await this.#client.keyUsage({ signal: limited });
      const held = Array.isArray(scopes) ? scopes : [];
      this.#heard.may({ mayChange: grants(held, 'sandboxes:write'), mayDecide: grants(held, 'approvals:decide') });
    });
  }
}

const ROWS = new WeakMap<object, Row>();

/** Caches the row of each item. */
function rowsOf(items: readonly Parameters<typeof liveRow>[0][]): Row[] {
  return items.map((item) => {
    const known = ROWS.get(item);
    if (known) return known;
    const row = liveRow(item);
    ROWS.set(item, row);
    return row;
  });
}
