import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isMayflyError } from '../../model/errors.ts';
import type { Verification } from '../../store/audit/audit-verification.ts';
import type { Store } from '../../store/connect.ts';
import type { LogVerification } from '../../store/register/register-walk.ts';
import type { Exported } from '../../store/retention/retained.ts';
import type { EndedSandbox, Removed } from '../../store/retention/retention.ts';
import type { RetentionSettings } from '../config/config.ts';
import { exportTo } from './export-file.ts';

/** Number of sandboxes per export file, removed afterwards: a killed pass repeats at most one file. */
const BATCH = 50;
const DAY_MS = 24 * 3_600_000;
/** Pause between two passes, ms. */
const PASS_MS = { least: 10_000, most: 3_600_000 };

interface RetentionDeps {
  store: Pick<Store, 'retention' | 'auditRetention' | 'audit' | 'sandboxes'>;
  settings: RetentionSettings;
  /** Reports whether a workflow of the sandbox runs. @throws MayflyError temporal_unavailable, while unknown */
  isOpen: (sandboxId: string) => Promise<boolean>;
  logger: Logger;
  /** `@default` {@link BATCH} */
  batch?: number;
}

/** Treats a chain with an entry of an unknown key as broken, so that it does not block the others. */
function treatAsBroken(error: unknown): Pick<Verification, 'ok' | 'waiting' | 'expired'> {
  if (isMayflyError(error, 'payload_key_unusable')) return { ok: false };
  throw error;
}

/** Returns the pause between two passes: 1/24 of the retention, which is days except in trials. */
export function passIntervalMs({ recordDays }: RetentionSettings): number {
  const intervalMs = ((recordDays ?? Infinity) * DAY_MS) / 24;
  return Math.min(PASS_MS.most, Math.max(PASS_MS.least, intervalMs));
}

/**
 * Removes old records, and audit trails if configured. Exports reach the disk before any removal, and a record goes
 * after everything that belongs to it; so a pass may be killed anywhere, and the next one continues.
 */
export class RetentionPass {
  constructor(private readonly deps: RetentionDeps) {}

  async run(signal: AbortSignal): Promise<void> {
    const { settings } = this.deps;
    if (settings.recordDays !== null) await this.#records(before(settings.recordDays), signal);
    if (settings.auditDays !== null) await this.#chains(before(settings.auditDays), signal);
  }

  async #records(past: string, signal: AbortSignal): Promise<void> {
    const { retention } = this.deps.store;
    const free = async (one: EndedSandbox) => !((await retention.isNeeded(one.id)) || (await this.deps.isOpen(one.id)));
    await this.#batches(
      (after, limit) => retention.due({ before: past, after, limit }),
      signal,
      async (page) => {
        const due = await filterAsync(page, free);
        const path = await this.#export(due, ({ id }) => retention.documents(id));
        for (const one of due) {
          if (!signal.aborted && !(await retention.isNeeded(one.id))) await this.#count(await retention.remove(one));
        }
        if (due.length > 0) this.deps.logger.info({ sandboxes: due.length, exported: path }, 'removed ended sandboxes');
      },
    );
  }

  async #chains(past: string, signal: AbortSignal): Promise<void> {
    const { auditRetention } = this.deps.store;
    let register: LogVerification | null = null;
    await this.#batches(
      (after, limit) => auditRetention.due({ before: past, after, limit }),
      signal,
      async (page) => {
        register ??= await this.deps.store.audit.verifyRegister();
        const known = register;
        const due = await filterAsync(page, ({ id }) => this.#isPast(id, past, known));
        const path = await this.#export(due, ({ id }) => auditRetention.documents(id));
        for (const { id } of due) {
          if (!signal.aborted) await this.#count({ audit: await auditRetention.remove(id) });
        }
        if (due.length > 0) this.deps.logger.info({ chains: due.length, exported: path }, 'removed audit trails');
      },
    );
  }

  /** Reports whether a chain is intact, also by the transparency log, and old enough: a broken one is evidence. */
  async #isPast(id: string, past: string, register: LogVerification): Promise<boolean> {
    const { audit, auditRetention, sandboxes } = this.deps.store;
    if ((await sandboxes.get(id)) !== null || (await this.deps.isOpen(id))) return false;
    const { ok, waiting, expired } = await audit.verify(id, register).catch(treatAsBroken);
    if (!ok || waiting) {
      this.deps.logger.warn({ id }, 'an audit trail is past, but broken: it is kept. Run `mayfly audit verify`');
      return false;
    }
    const lastAt = await auditRetention.lastAt(id);
    return lastAt === null ? expired !== undefined : lastAt < past;
  }

  /** Handles batches in turn, each followed by a pause of its duration, to share the store. */
  async #batches(
    read: (after: EndedSandbox | null, limit: number) => Promise<EndedSandbox[]>,
    signal: AbortSignal,
    handle: (page: EndedSandbox[]) => Promise<void>,
  ): Promise<void> {
    let after: EndedSandbox | null = null;
    while (!signal.aborted) {
      const began = performance.now();
      const page: EndedSandbox[] = await read(after, this.deps.batch ?? BATCH);
      after = page.at(-1) ?? null;
      if (after === null) return;
      await handle(page);
      await sleep(performance.now() - began, undefined, { signal }).catch(() => undefined); // the abort ends the loop
    }
  }

  async #export(
    due: EndedSandbox[],
    documentsOf: (one: EndedSandbox) => AsyncIterable<Exported>,
  ): Promise<string | null> {
    const { exportDir } = this.deps.settings;
    if (exportDir === null || due.length === 0) return null;
    async function* documents(): AsyncGenerator<Exported> {
      for (const one of due) yield* documentsOf(one);
    }
    return exportTo(exportDir, documents());
  }

  async #count(removed: Removed): Promise<void> {
    await this.deps.store.retention.count(removed);
  }
}

function before(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString();
}

async function filterAsync<T>(all: readonly T[], keep: (one: T) => Promise<boolean>): Promise<T[]> {
  const kept: T[] = [];
  for (const one of all) if (await keep(one)) kept.push(one);
  return kept;
}
