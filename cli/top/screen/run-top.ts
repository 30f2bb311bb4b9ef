import type { Approval, Sandbox } from '../../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import { sandboxLines } from '../../sandbox/sandbox-text.ts';
import { logIn } from '../../ssh/ssh.ts';
import { between, duration } from '../../terminal/arguments.ts';
import { EXIT } from '../../terminal/cli-error.ts';
import { Io } from '../../terminal/io.ts';
import { cellText } from '../rows/section.ts';
import { SECTIONS } from '../sections/sections.ts';
import { Reader } from './reader.ts';
import { Screen } from './screen.ts';
import { type Action, bodyHeight, firstState, withFault, withRows } from './state.ts';

const SANDBOXES = 0;

/** Runs `mayfly top` on a terminal, until the user quits. @returns the exit code */
export async function runTop(io: Io, client: MayflyClient, apiUrl: string): Promise<number> {
  const top = new Top(io, client, apiUrl);
  return top.run();
}

class Top {
  readonly #io: Io;
  readonly #client: MayflyClient;
  readonly #screen: Screen;
  readonly #reader: Reader;
  #reading = new AbortController();
  #looking = new AbortController();
  #finish: (code: number) => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor(io: Io, client: MayflyClient, apiUrl: string) {
    [this.#io, this.#client] = [io, client];
    const size = { columns: process.stdout.columns, rows: process.stdout.rows };
    const state = firstState(
      apiUrl,
      SECTIONS.map(({ name }) => name),
      size,
    );
    this.#screen = new Screen(io, state, {
      act: (action) => void this.#act(action).catch((error: unknown) => this.#showError(error)),
      moved: () => this.#nudgeAtEdge(),
    });
    this.#reader = new Reader(client, {
      rows: (nth, rows, isAll) => this.#screen.change((now) => withRows(now, nth, rows, isAll, Date.now())),
      fault: (nth, fault) => this.#screen.change((now) => withFault(now, nth, fault)),
      may: (rights) => this.#screen.change((now) => ({ ...now, ...rights })),
      visible: () => this.#visible(),
    });
  }

  async run(): Promise<number> {
    const ended = new Promise<number>((resolve, reject) => {
      [this.#finish, this.#fail] = [resolve, reject];
    });
    const interrupt = () => this.#finish(EXIT.interrupted);
    this.#io.signal.addEventListener('abort', interrupt, { once: true });
    if (this.#io.signal.aborted) interrupt();
    try {
      this.#screen.open();
      this.#read();
      return await ended;
    } finally {
      this.#reading.abort();
      this.#looking.abort();
      this.#screen.end();
    }
  }

  #read(): void {
    this.#reading = new AbortController();
    this.#reader.run(this.#reading.signal).catch((error: unknown) => this.#fail(error));
  }

  #visible() {
    const { shown, lists, size } = this.#screen.state;
    const top = lists[SANDBOXES]?.top ?? 0;
    return shown === SANDBOXES ? { from: top, to: top + bodyHeight(size) } : null;
  }

  /** Reads more when the user scrolls near the end of an incomplete list. */
  #nudgeAtEdge(): void {
    const { lists, size, shown } = this.#screen.state;
    const list = lists[shown];
    if (list && !list.isAll && list.index + bodyHeight(size) >= list.rows.length) this.#reader.nudge();
  }

  async #act(action: Action): Promise<void> {
    switch (action.do) {
      case 'quit':
        return this.#finish(EXIT.ok);
      case 'suspend':
        return this.#screen.suspend();
      case 'redraw':
        return this.#screen.redraw();
      case 'unlook':
        this.#looking.abort();
        return this.#screen.change((now) => ({ ...now, look: null }));
      case 'look':
        return this.#look(action.sandboxId);
      case 'log-in':
        return this.#logIn(action.sandboxId);
      case 'destroy':
        return this.#destroy(action.sandboxId);
      case 'approve':
      case 'refuse':
        return this.#decide(action.do, action.approval);
    }
  }

  async #look(sandboxId: string): Promise<void> {
    this.#looking.abort();
    const looking = new AbortController();
    this.#looking = looking;
    this.#screen.change((now) => ({
      ...now,
      look: { sandboxId, approval: null, lines: [`${sandboxId} is read`], top: 0 },
    }));
    await watchDetail(this.#client, sandboxId, looking.signal, (lines) =>
      this.#screen.change((now) =>
        now.look?.sandboxId === sandboxId ? { ...now, look: { ...now.look, lines } } : now,
      ),
    );
  }

  async #logIn(sandboxId: string): Promise<void> {
    this.#reading.abort();
    this.#screen.lend();
    let notice: string | null = null;
    try {
      const code = await logIn(this.#io, this.#client, sandboxId);
      if (code === SSH_FAILED) notice = `ssh has failed; \`mayfly ssh ${sandboxId}\` says why`;
    } catch (error) {
      notice = textOf(error);
    }
    if (this.#io.signal.aborted) return;
    this.#screen.takeBack();
    this.#screen.change((now) => ({ ...now, notice }));
    this.#read();
  }

  async #destroy(sandboxId: string): Promise<void> {
    this.#screen.change((now) => ({ ...now, notice: `${sandboxId} is asked to end` }));
    const { state } = await this.#client.destroySandbox(sandboxId, { waitSeconds: 0, signal: this.#io.signal });
    this.#screen.change((now) => ({ ...now, notice: `${sandboxId} is ${cellText(state)}` }));
    this.#reader.nudge();
  }

  async #decide(verb: 'approve' | 'refuse', { id, digest }: Approval): Promise<void> {
    const { state } = await this.#client.approvals[verb](id, { digest }, { signal: this.#io.signal });
    this.#screen.change((now) => ({ ...now, look: null, notice: `${id} is ${cellText(state)}` }));
    this.#reader.nudge();
  }

  #showError(error: unknown): void {
    this.#screen.change((now) => ({ ...now, notice: textOf(error) }));
  }
}

/** Exit code of ssh(1) for its own failures. */
const SSH_FAILED = 255;

function textOf(error: unknown): string {
  return cellText(error instanceof Error ? error.message : String(error));
}

/** Makes an Io without colours: a line of the screen has its own. */
function plainIo(): Io {
  const nowhere = { write: () => {} };
  const { signal } = new AbortController();
  return new Io({ stdout: nowhere, stderr: nowhere, env: {}, signal, force: signal });
}

/** Formats a sandbox as in `mayfly sandbox get`, with its steps. */
function lookLinesOf(record: Sandbox): string[] {
  const steps = record.steps.map(({ step, startedAt, endedAt }) => {
    return `  ${step.padEnd(22)}${duration(between(startedAt, endedAt)).padStart(9)}`;
  });
  return [...sandboxLines(plainIo(), record), ...steps].map(cellText);
}

/** Reports the state and each change, until the sandbox ends or the signal aborts. */
export async function watchDetail(
  client: MayflyClient,
  sandboxId: string,
  signal: AbortSignal,
  tell: (lines: string[]) => void,
): Promise<void> {
  try {
    for await (const record of client.watchSandbox(sandboxId, { signal })) tell(lookLinesOf(record));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
