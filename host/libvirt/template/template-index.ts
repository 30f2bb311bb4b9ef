import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Mutex } from 'async-mutex';
import { z } from 'zod';
import { isSnapshotId } from '../../../model/ids.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import { oneLine } from '../../os/one-line.ts';
import type { HostTemplate, TemplateUse } from '../../templates.ts';
import { unlessUnreadable } from '../layers/references.ts';

const Entry = z.strictObject({
  key: z.string().regex(/^[0-9a-f]{64}$/),
  templateId: z.string().refine(isSnapshotId),
  savedAt: z.iso.datetime(),
  wakes: z.int().nonnegative(),
  failuresInARow: z.int().nonnegative(),
  lastFailure: z.string().nullable(),
  lastUsedAt: z.iso.datetime().nullable(),
  isReady: z.boolean(),
});
type Entry = z.infer<typeof Entry>;

/** Limit of consecutive failed wakes, beyond the effect of a loaded host. */
const MAX_FAILURES = 3;

/**
 * Index of the templates with their use. Read from its file each time, so that a new worker knows the state of the
 * previous one.
 */
export class TemplateIndex {
  readonly #mutex = new Mutex();

  /** @param file absolute */
  constructor(private readonly file: string) {}

  async ready(key: string): Promise<HostTemplate | null> {
    return (await this.#read()).find((entry) => entry.key === key && entry.isReady) ?? null;
  }

  /** Makes the template the ready one of its key. */
  async put(template: HostTemplate): Promise<void> {
    const fresh = { wakes: 0, failuresInARow: 0, lastFailure: null, lastUsedAt: null, isReady: true };
    await this.#change((entries) => {
      if (entries.some(({ templateId }) => templateId === template.templateId)) return entries;
      const others = entries.map((entry) => (entry.key === template.key ? { ...entry, isReady: false } : entry));
      return [...others, { ...template, ...fresh }];
    });
  }

  async drop(templateId: string): Promise<void> {
    await this.#change((entries) => entries.filter((entry) => entry.templateId !== templateId));
  }

  async woke(id: string): Promise<void> {
    const lastUsedAt = new Date().toISOString();
    await this.#changeOne(id, (entry) => ({ ...entry, wakes: entry.wakes + 1, failuresInARow: 0, lastUsedAt }));
  }

  /** @param isSpoiled the saved data is missing or changed: retires the template */
  async failed(id: string, why: string, isSpoiled: boolean): Promise<void> {
    await this.#changeOne(id, (entry) => {
      const failuresInARow = entry.failuresInARow + 1;
      const isReady = entry.isReady && !isSpoiled && failuresInARow < MAX_FAILURES;
      return { ...entry, failuresInARow, isReady, lastFailure: oneLine(why) };
    });
  }

  async uses(): Promise<TemplateUse[]> {
    return (await this.#read()).map(({ key: _key, savedAt: _savedAt, ...use }) => use);
  }

  #changeOne(templateId: string, change: (entry: Entry) => Entry): Promise<void> {
    return this.#change((entries) => entries.map((entry) => (entry.templateId === templateId ? change(entry) : entry)));
  }

  async #change(change: (entries: Entry[]) => Entry[]): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      const entries = await this.#read();
      const changed = change(entries);
      if (changed === entries) return;
      await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
      await writeJson(this.file, changed);
    });
  }

  /** Reads the list. An unreadable one, as of another version, counts as empty: templates are then made again. */
  async #read(): Promise<Entry[]> {
    return (await unlessUnreadable(() => readJson(this.file, z.array(Entry)), null)) ?? [];
  }
}
