import type { FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { isUnsettled } from '../../model/functions/run-state.ts';
import { newDelivery } from '../../model/webhooks/delivery.ts';
import type { EndpointRecord } from '../../model/webhooks/endpoint.ts';
import {
  eventOfCleanup,
  eventOfDisabling,
  eventOfMissed,
  eventsOfEnd,
  type WebhookEvent,
} from '../../model/webhooks/event.ts';
import type { Store } from '../../store/connect.ts';
import type { UntoldRun } from '../../store/webhooks/untold-runs.ts';
import type { Reconciliation } from '../../temporal/reconciliation.ts';

/** Who writes a delivery down begins it at once, or has died. Milliseconds. */
const NOT_BEGUN_MS = 3_000;
/** Who ends a run tells of it at once, or has died, or leaves it to who looks. Milliseconds. */
const NOT_TOLD_MS = 500;
/** From one look at a delivery whose workflow should go on with it to the next. Milliseconds. */
const LOOKED_AT_AGAIN_MS = 60_000;
/** Of one look. */
const AT_ONCE = 500;

/**
 * Tells endpoints of what is in the store: each event is written down once for each endpoint, and then sent. What was cut short
 * is told again by whoever looks next, and comes to nothing more.
 */
export class Announcer {
  constructor(
    private readonly store: Store,
    private readonly reconciliation: Pick<Reconciliation, 'deliveries'>,
  ) {}

  /** Tells of the end of a run, and of its cleanup, as far as nobody has. It throws nothing: {@link look} finds what is left. */
  async ofRun(runId: string): Promise<void> {
    try {
      const untold = await this.store.untoldRuns.get(runId);
      if (untold) await this.#tell(untold);
    } catch {
      // looked at again in a second
    }
  }

  /** Tells of an endpoint that was disabled, as {@link ofRun}. */
  async ofDisabling(): Promise<void> {
    for (const endpoint of await this.store.webhookEndpoints.untold()) {
      const { id, disabledAt, disabledFor } = endpoint;
      const failure = disabledFor === 'gone' ? 'endpoint-gone' : 'endpoint-disabled';
      await this.store.webhookDeliveries.giveUp(id, failure, disabledAt ?? '');
      await this.tell(eventOfDisabling(endpoint));
      await this.store.webhookEndpoints.told(endpoint);
    }
  }

  /**
   * Tells all endpoints of an event of their project that want its type. The same event again is the same.
   * @param to endpoints that are told whatever they want
   */
  async tell(event: WebhookEvent, to: readonly string[] = []): Promise<void> {
    const now = inMs(0);
    const wakeAt = inMs(NOT_BEGUN_MS);
    const known = await this.store.webhookEndpoints.list(event.project);
    const told = known.filter(({ id, types }) => types.includes(event.type) || to.includes(id));
    const send = async (endpoint: EndpointRecord) => {
      const delivery = newDelivery(event, endpoint, now);
      const isNew = await this.store.webhookDeliveries.create(delivery, wakeAt);
      if (!isNew || delivery.state !== 'pending') return;
      await this.reconciliation.deliveries.begin({ deliveryId: delivery.id }).catch(() => undefined); // whoever looks next does
    };
    await Promise.all(told.map(send));
  }

  /**
   * Goes on with what somebody has begun who died: events that nobody was told of, and deliveries without a workflow.
   * @param onError is told of each that has to wait for the next look
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
    const [now, before, next] = [0, -NOT_TOLD_MS, LOOKED_AT_AGAIN_MS].map(inMs) as [string, string, string];
    await eachOf(
      () => untoldRuns.due(before, AT_ONCE),
      (untold) => this.#tell(untold),
    );
    await eachOf(
      () => scheduleTimes.untold(AT_ONCE),
      async (time) => {
        await this.tell(eventOfMissed(time));
        await scheduleTimes.told(time);
      },
    );
    await this.ofDisabling().catch(onError);
    await eachOf(
      () => webhookDeliveries.toWake(now, AT_ONCE),
      async (due) => {
        await this.reconciliation.deliveries.wake({ deliveryId: due.id });
        await webhookDeliveries.woken(due, next);
      },
    );
  }

  async #tell(untold: UntoldRun): Promise<void> {
    const { run, end, cleanup } = untold;
    if (end !== null) {
      const to = await this.#destinationsOf(run);
      for (const event of eventsOfEnd(run)) await this.tell(event, event.type === 'run.ended' ? to : []);
    }
    if (cleanup !== null) await this.tell(eventOfCleanup(run));
    await this.store.untoldRuns.told(untold);
  }

  async #destinationsOf({ project, function: name, version, versionDigest, outcome }: RunRecord): Promise<string[]> {
    const accepted = await this.store.functionVersions.get({ project, name }, version);
    if (accepted?.digest !== versionDigest || outcome === null) return [];
    const { onSuccess, onFailure }: FunctionSpec['destinations'] = accepted.spec.destinations ?? NOWHERE; // older ones
    const wanted = outcome === 'succeeded' ? onSuccess : isUnsettled(outcome) ? onFailure : null;
    return wanted === null ? [] : [wanted];
  }
}

const NOWHERE = { onSuccess: null, onFailure: null };

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
