import type { FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { isDeadLetterOutcome } from '../../model/functions/run-state.ts';
import { newDelivery } from '../../model/webhooks/delivery.ts';
import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import {
  toCleanupEvent,
  toDisabledEvent,
  toMissedTimeEvent,
  toRunEndEvents,
  type WebhookEvent,
} from '../../model/webhooks/event.ts';
import type { Store } from '../../store/connect.ts';
import type { UnpublishedRun } from '../../store/webhooks/untold-runs.ts';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

/** Age of a delivery without a workflow, after which its creator counts as crashed. Milliseconds. */
const START_TIMEOUT_MS = 3_000;
/** Age of a run's unpublished end, after which its publisher counts as crashed. Milliseconds. */
const PUBLISH_GRACE_MS = 500;
/** Interval between two checks that a pending delivery has a workflow. Milliseconds. */
const RECHECK_MS = 60_000;
/** Number of items per poll. */
const BATCH_SIZE = 500;

/**
 * Publisher of events to webhook endpoints: records each event once per endpoint, then sends it. The next poll
 * republishes after a crash, without duplicates.
 */
export class WebhookPublisher {
  constructor(
    private readonly store: Store,
    private readonly reconciliation: Pick<ControlTemporalClient, 'deliveries'>,
  ) {}

  /** Publishes unpublished events of a run's end and cleanup. Never throws: {@link look} retries. */
  async ofRun(runId: string): Promise<void> {
    try {
      const untold = await this.store.untoldRuns.get(runId);
      if (untold) await this.#tell(untold);
    } catch {
      // retried within a second
    }
  }

  /** Publishes the disabling of endpoints, as {@link ofRun}. */
  async ofDisabling(): Promise<void> {
    for (const endpoint of await this.store.webhookEndpoints.untold()) {
      const { id, disabledAt, disabledFor } = endpoint;
      const failure = disabledFor === 'gone' ? 'endpoint-gone' : 'endpoint-disabled';
      await this.store.webhookDeliveries.giveUp(id, failure, disabledAt ?? '');
      await this.tell(toDisabledEvent(endpoint));
      await this.store.webhookEndpoints.told(endpoint);
    }
  }

  /**
   * Publishes an event to all endpoints of its project that subscribe to its type. Idempotent.
   * @param to endpoints that get it regardless of their types
   */
  async tell(event: WebhookEvent, to: readonly string[] = []): Promise<void> {
    const now = inMs(0);
    const wakeAt = inMs(START_TIMEOUT_MS);
    const known = await this.store.webhookEndpoints.list(event.project);
    const subscribed = known.filter(({ id, types }) => types.includes(event.type) || to.includes(id));
    const send = async (endpoint: EndpointRecord) => {
      const delivery = newDelivery(event, endpoint, now);
      const isNew = await this.store.webhookDeliveries.create(delivery, wakeAt);
      if (!isNew || delivery.state !== 'pending') return;
      await this.reconciliation.deliveries.begin({ deliveryId: delivery.id }).catch(() => undefined); // the next poll retries
    };
    await Promise.all(subscribed.map(send));
  }

  /**
   * Resumes work of crashed processes: publishes unpublished events, and restarts deliveries without a workflow.
   * @param onError called for each failure, which the next poll retries
   */
  async look(onError: (error: unknown) => void): Promise<void> {
    const eachOf = async <T>(find: () => Promise<readonly T[]>, act: (one: T) => Promise<void>) => {
      try {
        for (const one of await find()) await act(one).catch(onError);
      } catch (error) {
        onError(error);
      }
    };
    const { untoldRuns, scheduleTimes, webhookDeliveries } = this.store;
    const [now, before, next] = [0, -PUBLISH_GRACE_MS, RECHECK_MS].map(inMs) as [string, string, string];
    await eachOf(
      () => untoldRuns.due(before, BATCH_SIZE),
      (untold) => this.#tell(untold),
    );
    await eachOf(
      () => scheduleTimes.untold(BATCH_SIZE),
      async (time) => {
        await this.tell(toMissedTimeEvent(time));
        await scheduleTimes.told(time);
      },
    );
    await this.ofDisabling().catch(onError);
    await eachOf(
      () => webhookDeliveries.toWake(now, BATCH_SIZE),
      async (due) => {
        await this.reconciliation.deliveries.wake({ deliveryId: due.id });
        await webhookDeliveries.woken(due, next);
      },
    );
  }

  async #tell(untold: UnpublishedRun): Promise<void> {
    const { run, end, cleanup } = untold;
    if (end !== null) {
      const to = await this.#destinationsOf(run);
      for (const event of toRunEndEvents(run)) await this.tell(event, event.type === 'run.ended' ? to : []);
    }
    if (cleanup !== null) await this.tell(toCleanupEvent(run));
    await this.store.untoldRuns.told(untold);
  }

  async #destinationsOf({ project, function: name, version, versionDigest, outcome }: RunRecord): Promise<string[]> {
    const accepted = await this.store.functionVersions.get({ project, name }, version);
    if (accepted?.digest !== versionDigest || outcome === null) return [];
    const { onSuccess, onFailure }: FunctionSpec['destinations'] = accepted.spec.destinations ?? NOWHERE; // old versions
    const wanted = outcome === 'succeeded' ? onSuccess : isDeadLetterOutcome(outcome) ? onFailure : null;
    return wanted === null ? [] : [wanted];
  }
}

const NOWHERE = { onSuccess: null, onFailure: null };

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
