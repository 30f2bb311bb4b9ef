import { z } from 'zod';
import { optional } from '../../model/fields.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { BoundedMap } from '../mongo/recent-map.ts';
import { repositoryOf } from '../repository/repository.ts';

const storedActivity = z.object({
  usedAt: optional(z.number()).describe('Milliseconds since 1970'),
  openCommands: optional(z.array(z.string())).describe('Ids of commands that have not ended'),
  busy: optional(z.literal('yes')).describe(
    'Set while there may be open commands, which are found by it; taken away by whoever looks and finds none',
  ),
});
/** Last use of a sandbox, 0 for never, and the commands that still use it. */
type Activity = Required<Omit<z.infer<typeof storedActivity>, 'busy'>>;

const BUSY = 'yes';

/** Interval between two recorded uses of a sandbox, ms; idle timeouts count in seconds. */
const TOUCH_MS = 1_000;
/** Cached uses of sandboxes; beyond that the least recent are dropped. */
const CACHE_SIZE = 10_000;

/**
 * Activity that keeps a sandbox from being idle; `_id` = sandbox id. Only atomic operators write here, so that every
 * process may. The workflow reads it when the idle timer fires: one signal per use would fill its history.
 */
export class Activities extends repositoryOf({
  collection: 'uses',
  noun: 'a sandbox',
  isId: isSandboxId,
  model: storedActivity,
}) {
  readonly #touched = new BoundedMap<number>(CACHE_SIZE);

  /** Records a use of the sandbox now. One process writes at most once a second. */
  async touch(sandboxId: string): Promise<void> {
    this.checked(sandboxId);
    const now = Date.now();
    if (now - (this.#touched.get(sandboxId) ?? 0) < TOUCH_MS) return;
    this.#touched.set(sandboxId, now);
    await this.#update(sandboxId, { $max: { usedAt: now } });
  }

  /** Records a command that uses the sandbox until {@link closeCommand}. */
  async openCommand(sandboxId: string, commandId: string): Promise<void> {
    this.checked(sandboxId);
    const opened = { $set: { busy: BUSY }, $addToSet: { openCommands: commandId } };
    await this.#update(sandboxId, { $max: { usedAt: Date.now() }, ...opened });
  }

  async closeCommand(sandboxId: string, commandId: string): Promise<void> {
    this.checked(sandboxId);
    await this.#update(sandboxId, { $max: { usedAt: Date.now() }, $pull: { openCommands: commandId } });
  }

  async get(sandboxId: string): Promise<Activity> {
    const found = await this.findById(sandboxId);
    return { usedAt: found?.usedAt ?? 0, openCommands: found?.openCommands ?? [] };
  }

  /** Returns all commands that have not ended, and unmarks sandboxes without any. */
  async openCommands(): Promise<{ sandboxId: string; commandId: string }[]> {
    const found = await this.documents({ busy: BUSY });
    for (const { _id, openCommands } of found) if (!openCommands?.length) await this.#markIdle(_id);
    return found.flatMap(({ _id: sandboxId, openCommands }) =>
      (openCommands ?? []).map((commandId) => ({ sandboxId, commandId })),
    );
  }

  /** Unmarks a sandbox, unless a command was opened in between. */
  async #markIdle(sandboxId: string): Promise<void> {
    await this.updateOne({ _id: sandboxId, openCommands: { $size: 0 } }, { $unset: { busy: '' } });
  }

  async #update(sandboxId: string, change: Record<string, unknown>): Promise<void> {
    await this.model.updateOne({ _id: sandboxId }, change, { upsert: true });
  }
}
