import type { Logger } from 'pino';
import { requireSpec } from '../../../activities/function/accepted-version.ts';
import { loadEvent } from '../../../activities/function/stored-event.ts';
import { MayflyError } from '../../../model/errors.ts';
import { readJson } from '../../../model/events/json/json-text.ts';
import { readStructured } from '../../../model/events/structured-mode.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { type RunFailure, WAITING_STATES } from '../../../model/functions/run-state.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { DispatcherNotifier } from '../../../services/intake/acceptance.ts';
import { assertFitsSchema, isUndecided } from '../../../services/intake/schema-check.ts';
import type { InputSchemas } from '../../../services/schema/input-schemas.ts';
import type { Store } from '../../../store/connect.ts';
import type { Unchecked } from '../../../store/functions/queue/unchecked-runs.ts';

type Stores = Pick<Store, 'runs' | 'runContents' | 'functionVersions' | 'uncheckedRuns' | 'gatheredRuns'>;

/**
 * Validates events ingested before their check, in turn for each function. A valid event proceeds, an invalid one ends
 * its run; any number of processes may do so concurrently.
 */
export class DeferredValidation {
  constructor(
    private readonly store: Stores,
    private readonly schemas: InputSchemas,
    private readonly bell: Pick<DispatcherNotifier, 'ring'>,
    private readonly logger: Logger,
  ) {}

  async look(signal?: AbortSignal): Promise<void> {
    while (await this.#round(signal));
  }

  /** @returns true when an event was decided */
  async #round(signal?: AbortSignal): Promise<boolean> {
    let isMore = false;
    for (let unchecked = await this.store.uncheckedRuns.next(null); unchecked && !signal?.aborted; ) {
      const { project, function: name } = unchecked.run;
      if (await this.#decideOrLater(unchecked)) {
        isMore = true;
        this.bell.ring({ project, name });
      }
      unchecked = await this.store.uncheckedRuns.next({ project, name });
    }
    return isMore && !signal?.aborted;
  }

  /** A failed check delays only its own function, until the event is too old. */
  async #decideOrLater(unchecked: Unchecked): Promise<boolean> {
    try {
      return await this.#decide(unchecked);
    } catch (error) {
      this.logger.warn({ err: error, runId: unchecked.run.id }, 'an event is checked by its schema in a second');
      return false;
    }
  }

  async #decide({ run, isWhole }: Unchecked): Promise<boolean> {
    const failure = isWhole ? await this.#failureOf(run) : damagedRecordFailure(run);
    if (failure) return this.#end(run, failure);
    const begun = await this.store.uncheckedRuns.fits(run, steadyClock.iso());
    if (begun?.waitingFor === 'batch' && begun.gathering?.kind === 'batch') {
      await this.store.gatheredRuns.wakeIfFull(begun, begun.gathering.maxSize);
    }
    return begun !== null;
  }

  /** Returns why the event is invalid; null: it is valid. @throws errors unrelated to the event: it is checked again */
  async #failureOf(run: RunRecord): Promise<RunFailure | null> {
    try {
      const spec = await requireSpec(this.store, run);
      const event = readStructured(readJson(await loadEvent(this.store, run)));
      await assertFitsSchema(this.schemas, { digest: run.versionDigest, function: run.function, spec }, event);
      return null;
    } catch (error) {
      if (isUndecided(error)) throw error;
      if (error instanceof MayflyError) return { code: error.code, message: textOf(error) };
      this.logger.error({ err: error, runId: run.id }, 'an event could not be checked');
      return { code: 'internal', message: `It could not be checked: ${String(error)}` };
    }
  }

  async #end(run: RunRecord, failure: RunFailure): Promise<boolean> {
    const at = steadyClock.iso();
    const ended = { outcome: 'not-started', failure, endedAt: at, updatedAt: at } as const;
    return this.store.runs.end(run.id, WAITING_STATES, ended, run.retentionDays, { waitingFor: 'check' });
  }
}

/** Formats an error with its fields, like `errors` of the API. */
function textOf({ message, options: { fields = [] } }: MayflyError): string {
  return [message, ...fields.map(({ field, problem }) => `${field} ${problem}.`)].join(' ');
}

function damagedRecordFailure({ id }: RunRecord): RunFailure {
  return { code: 'record_damaged', message: `The record of ${id} can't be read.` };
}
