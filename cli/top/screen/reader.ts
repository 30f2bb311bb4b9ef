import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { grants } from '../../../model/scopes.ts';
import { cellText, type Row } from '../rows/section.ts';
import { liveRow, readLivePage } from '../sections/sandboxes.ts';
import { SECTIONS } from '../sections/sections.ts';
import { type Bookmark, Living } from './living.ts';
import type { State } from './state.ts';

/** What is told of what was read. */
interface Heard {
  rows(nth: number, rows: readonly Row[], isAll: boolean): void;
  fault(nth: number, fault: string): void;
  may(rights: Pick<State, 'mayChange' | 'mayDecide'>): void;
  /** Which sandboxes are on the screen, by their index; null: none are. */
  visible(): { from: number; to: number } | null;
}

interface Task {
  everyMs: number;
  dueAt: number;
  /** Milliseconds of the processor, of the last few times. */
  costs: number[];
  run(signal: AbortSignal): Promise<void>;
}

/** Which section the sandboxes are. */
const LIVING = 0;
const SWEEP_MS = 500;
const RIGHTS_MS = 60_000;
/** Each task rests this many times as long as it kept the processor: all of them together take at most three hundredths of it. */
const REST = 200;
/** However dear one was: what is on the screen is not older than this and one read. Milliseconds. */
const LONGEST_REST_MS = 10_000;
/** One read may take so long: an API that takes a request and says nothing is one that is gone. Milliseconds. */
const READ_MS = 10_000;
/** Of the screen in one go. */
const MAX_PAGES = 3;

/** Reads one thing after the other, each again and again, and the processor is left alone in between. */
export class Reader {
  readonly #client: MayflyClient;
  readonly #heard: Heard;
  readonly #living = new Living();
  readonly #tasks: Task[];
  #wake = new AbortController();

  constructor(client: MayflyClient, heard: Heard) {
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
      if (Date.now() < task.dueAt) continue; // something else has become due
      const before = process.cpuUsage();
      await task.run(signal);
      const { user, system } = process.cpuUsage(before);
      task.costs = [...task.costs.slice(1), (user + system) / 1_000];
      // The least of them: code that runs for the first time is slow, and is no reason to rest.
      const restMs = Math.min(Math.min(...task.costs) * REST, LONGEST_REST_MS);
      task.dueAt = Date.now() + Math.max(task.everyMs, restMs);
    }
  }

  /** Something has changed: what is shown is read at once, and the others soon. */
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

  /** One try, which ends in time. What fails is told of its section. */
  async #try(nth: number, signal: AbortSignal, read: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const limited = new AbortController();
    const stop = () => limited.abort(new Error('stopped'));
    const timer = setTimeout(() => limited.abort(new Error(`no answer for ${READ_MS / 1_000} s`)), READ_MS);
    signal.addEventListener('abort', stop, { once: true });
    try {
      await read(limited.signal);
    } catch (error) {
      if (signal.aborted) return;
      const fault = cellText(error instanceof Error ? error.message : String(error));
      // One that says nothing to this says nothing to the others, whose turns come later.
      for (const of of limited.signal.aborted ? SECTIONS.keys() : [nth]) this.#heard.fault(of, fault);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  #readSection(nth: number, signal: AbortSignal): Promise<void> {
    return this.#try(nth, signal, async (limited) => {
      const found = await SECTIONS[nth]?.rows(this.#client, limited);
      if (found) this.#heard.rows(nth, found.rows, found.isAll);
    });
  }

  /** The pages on the screen, or the first. */
  #readShown(signal: AbortSignal): Promise<void> {
    return this.#try(LIVING, signal, async (limited) => {
      const { from, to } = this.#heard.visible() ?? { from: 0, to: 0 };
      let index = from;
      for (let n = 0; n < MAX_PAGES && index <= to; n++)
        index = await this.#readPage(this.#living.pageOf(index), limited);
    });
  }

  /** The page of all that was read the longest ago. */
  async #readNext(signal: AbortSignal): Promise<void> {
    if (this.#living.isOnePage || this.#living.items.length === 0) return; // it is on the screen already
    await this.#try(LIVING, signal, async (limited) => void (await this.#readPage(this.#living.next, limited)));
  }

  /** @returns the first index behind it; Infinity: nothing is */
  async #readPage(from: Bookmark, signal: AbortSignal): Promise<number> {
    const page = await readLivePage(this.#client, from.cursor, signal);
    this.#living.merge(from, page);
    this.#heard.rows(LIVING, rowsOf(this.#living.items), this.#living.isAll);
    const last = page.items.at(-1);
    return page.nextCursor === null || !last ? Number.POSITIVE_INFINITY : this.#living.items.indexOf(last) + 1;
  }

  /** A key that may not change anything is offered no keys that do; one of which nobody knows, neither. */
  #readRights(signal: AbortSignal): Promise<void> {
    return this.#try(LIVING, signal, async (limited) => {
      const { scopes } = await this.#client.keyUsage({ signal: limited });
      const held = Array.isArray(scopes) ? scopes : [];
      this.#heard.may({ mayChange: grants(held, 'sandboxes:write'), mayDecide: grants(held, 'approvals:decide') });
    });
  }
}

const ROWS = new WeakMap<object, Row>();

/** Each item is made a row once, however often its list is. */
function rowsOf(items: readonly Parameters<typeof liveRow>[0][]): Row[] {
  return items.map((item) => {
    const known = ROWS.get(item);
    if (known) return known;
    const row = liveRow(item);
    ROWS.set(item, row);
    return row;
  });
}
