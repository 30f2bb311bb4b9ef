import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import type { TemplateRecord } from '../../model/templates/template.ts';
import {
  CHECK_TEMPLATE,
  DEFAULT_TEMPLATE_TIMES,
  REMOVE_TEMPLATE,
  REQUEST_TEMPLATE,
  type TemplateInput,
  type TemplateRemoval,
  type TemplateRequest,
  type TemplateTimes,
} from '../../model/templates/template-saga.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { handleSubscriptions, notifySubscribers } from '../saga/subscription.ts';
import { TaskLife } from '../source/task-life.ts';

const templateRequested = defineSignal<[TemplateRequest]>(REQUEST_TEMPLATE);
const remove = defineSignal<[TemplateRemoval]>(REMOVE_TEMPLATE);
const poll = defineSignal(CHECK_TEMPLATE);

/** State of the templates of one key on one host: requests, and results of builds. */
export class TemplateState {
  readonly times: TemplateTimes;
  readonly timeouts: Timeouts;
  /** Pending request for a template. */
  wish: TemplateRequest | null;
  isToLook = false;
  /** Time of the latest wake, or at which the first of successive templates was ready. Milliseconds since 1970. */
  usedAt: number | null;
  /** Latest failed one, until the next build replaces it. */
  failed: RecordedTemplate | null;
  /** Workflow ids of subscribers. */
  readonly subscribers: string[];
  /** True when its workflow is cancelled: the template is removed, and no other is built. */
  isCancelled = false;
  readonly #toGo = new Set<string>();
  #failures: number;
  #retryAt: number;
  #events = 0;

  /** @param input its installation is the latest requested one */
  constructor(public input: TemplateInput) {
    const { continued } = input;
    this.times = { ...DEFAULT_TEMPLATE_TIMES, ...input.times };
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
    this.wish = continued?.wanted ?? null;
    this.usedAt = continued?.usedAt ?? null;
    this.failed = continued?.failed ? new RecordedTemplate(this, continued.failed) : null;
    this.#failures = continued?.failures ?? 0;
    this.subscribers = continued?.subscribers ?? [];
    handleSubscriptions(this.subscribers);
    this.#retryAt = continued?.retryAt ?? 0;
    setHandler(templateRequested, (wish) => {
      this.wish = { ...wish, ...this.wish, installationId: wish.installationId };
      this.isToLook = true;
    });
    setHandler(remove, ({ templateId }) => {
      this.#toGo.add(templateId);
    });
    setHandler(poll, () => {
      this.isToLook = true;
    });
    whenCancelled(() => {
      this.isCancelled = true;
    });
  }

  /** Returns a number that distinguishes the audit events of this run. */
  nextEvent(): number {
    return this.#events++;
  }

  /** Reports whether the removal of a template was requested. */
  isToGo(templateId: string): boolean {
    return this.isCancelled || this.#toGo.has(templateId);
  }

  /** True when the request names another installation of that host id: the earlier one is out of use. */
  get isElsewhere(): boolean {
    return this.wish !== null && this.wish.installationId !== this.input.installationId;
  }

  /** Resets the backoff: a template was built and woken from, or one was deleted. */
  forgetFailures(): void {
    this.#failures = 0;
  }

  /** Records a failed build or wake. @returns time before which no other build starts, ISO 8601 */
  noteFailure(): string {
    const { firstRetryMs, longestRetryMs } = this.times;
    this.#retryAt = Date.now() + Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs);
    return new Date(this.#retryAt).toISOString();
  }

  /** Restores the backoff after a failure in a lost run. */
  recallFailure(failed: RecordedTemplate): void {
    this.failed = failed;
    this.#failures = Math.max(1, this.#failures);
    this.#retryAt = Math.max(this.#retryAt, Date.parse(failed.record.retryAt ?? failed.record.updatedAt));
  }

  /** Resolves when another template must be built; false: none was requested for long, or ever. */
  async untilWanted(): Promise<boolean> {
    await this.#dropFailed();
    const isFailedToGo = () => this.failed !== null && this.isToGo(this.failed.record.id);
    const hasMessage = () => this.wish !== null || this.isCancelled || isFailedToGo() || shouldContinueAsNew();
    const rememberedMs = this.#failures > 0 ? this.#retryAt + this.times.rememberedMs - Date.now() : 0;
    if (!hasMessage() && (rememberedMs <= 0 || !(await condition(hasMessage, rememberedMs)))) return false;
    const isCut = () => isFailedToGo() || (shouldContinueAsNew() && !this.isCancelled);
    const pauseMs = this.#retryAt - Date.now();
    if (this.wish !== null && pauseMs > 0) await condition(() => this.isCancelled || isCut(), pauseMs);
    if (this.isCancelled && this.wish === null && !isFailedToGo()) return false;
    if (!isCut()) {
      this.input = { ...this.input, installationId: this.wish?.installationId ?? this.input.installationId };
      return true;
    }
    if (!isFailedToGo()) await this.continueAsNew(null);
    return this.untilWanted();
  }

  async #dropFailed(): Promise<void> {
    if (this.failed === null || !this.isToGo(this.failed.record.id)) return;
    await this.failed.recordChange({ state: 'gone', retryAt: null }, 'template.gone');
    this.failed = null;
    this.forgetFailures();
  }

  continueAsNew(ready: RecordedTemplate | null): Promise<never> {
    const continued = {
      ready: ready?.record ?? null,
      failed: this.failed?.record ?? null,
      failures: this.#failures,
      retryAt: this.#retryAt,
      wanted: this.wish,
      usedAt: this.usedAt,
      subscribers: this.subscribers,
    };
    return continueAsNew<(input: TemplateInput) => Promise<void>>({ ...this.input, continued });
  }
}

type Changes = Partial<Omit<TemplateRecord, 'id' | 'key' | 'hostId'>>;

/** Record of one template, its task, and the only writer of both. */
export class RecordedTemplate extends TaskLife {
  /** @param record as stored, or to be stored */
  constructor(
    readonly life: TemplateState,
    public record: TemplateRecord,
  ) {
    super(life.timeouts);
  }

  /** Changes the record; also when the workflow is being cancelled. @param kind of the audit entry, if any */
  async recordChange(changes: Changes, kind: AuditKind | null = null): Promise<void> {
    this.record = { ...this.record, ...changes, updatedAt: now() };
    const { id, state, reason, waitingFor, hostId, source, createdBy } = this.record;
    setCurrentDetails([id, state, waitingFor ?? reason].filter(Boolean).join(' · '));
    const detail = { templateId: id, source, state, reason };
    const event = kind && auditEvent(this.life.nextEvent(), { kind, actor: createdBy, hostId, detail });
    const { record } = this;
    await CancellationScope.nonCancellable(() => controlUntilDone.recordTemplate({ record, event }));
    if (kind) await notifySubscribers(this.life.subscribers);
  }
}
