import { createHash } from 'node:crypto';
import { eachItemText } from '../../../model/events/json/member-text.ts';
import { DEFAULT_RESULT_TYPE } from '../../../model/functions/guest-layout.ts';
import type { RunRecord, RunResult } from '../../../model/functions/run.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { Store } from '../../../store/connect.ts';

/** Copies the end of a batch to the runs of its events. Idempotent. */
export class BatchEnds {
  constructor(private readonly store: Pick<Store, 'gatheredRuns' | 'runs' | 'runContents'>) {}

  async tell(batch: RunRecord): Promise<void> {
    const items = await this.#itemsOf(batch);
    for (const [n, { runId }] of batch.events.entries()) {
      const item = items?.[n];
      if (item) await this.store.runContents.put(runId, 'result', item);
      await this.#end(runId, batch, item ? toResult(item) : null);
    }
    await this.store.gatheredRuns.told(batch.id);
  }

  async #end(runId: string, batch: RunRecord, result: RunResult | null): Promise<void> {
    const { outcome, exitCode, signal, failure, skippedFor, supersededBy, startedAt, admittedAt, retentionDays } =
      batch;
    const at = steadyClock.iso();
    const ended = { outcome: outcome ?? 'unknown', endedAt: batch.endedAt ?? at, updatedAt: at, result } as const;
    const same = { exitCode, signal, failure, skippedFor, supersededBy, startedAt, admittedAt };
    await this.store.runs.end(runId, ['delayed'], { ...same, ...ended }, retentionDays, {
      batch: batch.id,
    });
  }

  /** Returns the result of each event, if the batch's own is a JSON array of the same length. */
  async #itemsOf({ id, events, outcome, result }: RunRecord): Promise<Uint8Array[] | null> {
    if (outcome !== 'succeeded' || result?.contentType !== DEFAULT_RESULT_TYPE) return null;
    const bytes = await this.store.runContents.get(id, 'result');
    if (!bytes) return null;
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    if (!Array.isArray(value) || value.length !== events.length) return null;
    const items = eachItemText(Buffer.from(bytes).toString('latin1')); // each byte is one character, and stays unchanged
    return Array.from(items, (item) => Buffer.from(item, 'latin1'));
  }
}

function toResult(item: Uint8Array): RunResult {
  const digest = createHash('sha256').update(item).digest('hex');
  return { contentType: DEFAULT_RESULT_TYPE, bytes: item.length, digest, partial: false };
}
