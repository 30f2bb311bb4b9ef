import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/ids.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, NUMBER, strictSchema, TEXT } from '../mongo/schema.ts';

/** When a sandbox was last used, and what still uses it. */
export interface Activity {
  /** Milliseconds since 1970; 0: never. */
  usedAt: number;
  /** Ids of commands that have not ended. */
  openCommands: string[];
}

interface ActivityDocument extends Partial<Activity> {
  _id: string;
  /** Set while there may be open commands, which are found by it; taken away by whoever looks and finds none. */
  busy?: typeof BUSY;
}

const BUSY = 'yes';

/** One touch of a sandbox in this time is enough for idle time-outs, which count in seconds. Milliseconds. */
const TOUCH_MS = 1_000;
/** Sandboxes whose last touch is remembered; the longest unused are forgotten first. */
const REMEMBERED = 10_000;

/**
 * What keeps a sandbox from being idle; `_id` = sandbox id. Only atomic operators write here, so that every process may.
 * Its workflow asks when the idle timer fires: a signal a use would fill its history.
 */
export class Activities {
  readonly #model: Model<ActivityDocument>;
  readonly #touched = new Map<string, number>();

  constructor(connection: Connection) {
    const schema = strictSchema<ActivityDocument>({ _id: NAME, usedAt: NUMBER, openCommands: [String], busy: TEXT });
    this.#model = connection.model<ActivityDocument>('Use', schema, 'uses');
  }

  /** The sandbox is being used now. Written at most once a second by one process. */
  async touch(sandboxId: string): Promise<void> {
    checkId(sandboxId);
    const now = Date.now();
    if (now - (this.#touched.get(sandboxId) ?? 0) < TOUCH_MS) return;
    this.#remember(sandboxId, now);
    await this.#update(sandboxId, { $max: { usedAt: now } });
  }

  /** A command that uses the sandbox until {@link closeCommand}. */
  async openCommand(sandboxId: string, commandId: string): Promise<void> {
    checkId(sandboxId);
    const opened = { $set: { busy: BUSY }, $addToSet: { openCommands: commandId } };
    await this.#update(sandboxId, { $max: { usedAt: Date.now() }, ...opened });
  }

  async closeCommand(sandboxId: string, commandId: string): Promise<void> {
    checkId(sandboxId);
    await this.#update(sandboxId, { $max: { usedAt: Date.now() }, $pull: { openCommands: commandId } });
  }

  async get(sandboxId: string): Promise<Activity> {
    checkId(sandboxId);
    const found = await reaching('read the use of a sandbox', () =>
      this.#model.findById(sandboxId).lean<ActivityDocument>(),
    );
    return { usedAt: found?.usedAt ?? 0, openCommands: found?.openCommands ?? [] };
  }

  /** All commands that have not ended. */
  async openCommands(): Promise<{ sandboxId: string; commandId: string }[]> {
    const found = await reaching('read the uses of sandboxes', () =>
      this.#model.find({ busy: BUSY }).lean<ActivityDocument[]>(),
    );
    for (const { _id, openCommands } of found) if (!openCommands?.length) await this.#markIdle(_id);
    return found.flatMap(({ _id: sandboxId, openCommands }) =>
      (openCommands ?? []).map((commandId) => ({ sandboxId, commandId })),
    );
  }

  /** Unless a command was opened meanwhile. */
  async #markIdle(sandboxId: string): Promise<void> {
    const idle = { _id: sandboxId, openCommands: { $size: 0 } };
    await reaching('note that a sandbox is idle', () => this.#model.updateOne(idle, { $unset: { busy: '' } }));
  }

  async #update(sandboxId: string, change: Record<string, unknown>): Promise<void> {
    await reaching('note the use of a sandbox', () =>
      this.#model.updateOne({ _id: sandboxId }, change, { upsert: true }),
    );
  }

  #remember(sandboxId: string, now: number): void {
    this.#touched.delete(sandboxId);
    this.#touched.set(sandboxId, now);
    const [oldest] = this.#touched.keys();
    if (this.#touched.size > REMEMBERED && oldest) this.#touched.delete(oldest);
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSandboxId(id)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
}
