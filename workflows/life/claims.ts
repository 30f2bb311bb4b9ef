import { CancellationScope, condition, setHandler } from '@temporalio/workflow';
import { TOO_OLD_MS } from '../../model/pools/pool.ts';
import { DEFAULT_PROJECT, NO_PROJECT } from '../../model/project.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import type { Membership } from '../../model/sandbox/membership.ts';
import { hostOf, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { hostActivities } from '../saga/host-activities.ts';
import { claim, retire } from '../saga/messages.ts';
import { now } from '../saga/now.ts';
import type { Patches } from './patches.ts';
import type { ClaimedChanges } from './recorded-life.ts';

interface Living {
  readonly id: string;
  readonly record: SandboxRecord;
  readonly timeouts: Timeouts;
  readonly isToEnd: boolean;
  readonly patches: Patches;
  checkOpen(): void;
  retire(): void;
  used(): void;
  recordClaimed(changes: ClaimedChanges, detail: Record<string, unknown>, actor: ClaimRequest['actor']): Promise<void>;
}

/**
 * Whose a member of a pool becomes: the first's who claims it, unless its pool has retired it before. Whatever lists say, it
 * is decided here.
 */
export class Claims {
  #claiming: string | null = null;

  constructor(private readonly life: Living) {
    setHandler(claim, (request) => this.#claim(request), {
      validator: (request) => {
        life.checkOpen();
        if (!this.#isKnown(request)) this.#check(request);
      },
    });
    setHandler(retire, () => this.#retire(), { validator: () => life.checkOpen() });
  }

  /** Its pool takes it away, unless somebody has claimed it, or is about to. */
  async #retire(): Promise<boolean> {
    await condition(() => this.#claiming === null);
    if (this.#membership.claimedBy !== null) return false;
    this.life.retire();
    return true;
  }

  async #claim(request: ClaimRequest): Promise<void> {
    const { life } = this;
    if (this.#claiming === request.requestId) await condition(() => this.#claiming !== request.requestId);
    if (this.#membership.claimedBy === request.requestId) return;
    this.#check(request);
    this.#claiming = request.requestId;
    try {
      await life.patches.inTurn(async () => {
        await this.#greet(request);
        this.#checkLiving();
        if (life.record.project === NO_PROJECT) await this.#giveShared(request);
        else await this.#give(request);
      });
    } finally {
      this.#claiming = null;
    }
    life.used();
  }

  /** It counts in the project that claims it before it is that project's. */
  async #giveShared(request: ClaimRequest): Promise<void> {
    const { size, actor } = request;
    const { project = DEFAULT_PROJECT, apiKeyId } = actor;
    const counted = { sandboxId: this.life.id, pool: this.#membership.name, project };
    try {
      await control.admitClaim({ ...counted, size, apiKeyId });
      this.#checkLiving();
      await this.#give(request);
    } catch (error) {
      await CancellationScope.nonCancellable(() => controlUntilDone.releaseClaim(counted));
      throw error;
    }
  }

  /** Its record is its caller's from here on, as if it had been made for that. */
  async #give({ requestId, name, spec, size, actor, requestedAt, builds }: ClaimRequest): Promise<void> {
    const membership = this.#membership;
    const at = now();
    const ageSeconds = Math.floor((Date.parse(at) - Date.parse(membership.warmAt ?? at)) / 1_000);
    const boot = { way: 'warm', why: null, templateId: null, ageSeconds } as const;
    const changes: ClaimedChanges = {
      name: name ?? null,
      spec,
      size,
      createdBy: actor,
      createdAt: requestedAt,
      runningAt: at,
      expiresAt: new Date(Date.parse(requestedAt) + spec.ttlSeconds * 1_000).toISOString(),
      boot,
      ...(builds && { builds }),
      pool: { ...membership, claimedBy: requestId },
    };
    const detail = { ...(name !== undefined && { name }), spec, pool: membership.name, requestId, ageSeconds };
    await this.life.recordClaimed(changes, detail, actor);
  }

  /** Whether its guest answers, over the connection that its host keeps, and its source is what it was made of. */
  async #greet({ spec }: ClaimRequest): Promise<void> {
    const { id, record, timeouts } = this.life;
    const host = hostOf(record);
    if (host === null) throw refusal('internal', `${id} is warm, and on no host.`);
    const on = hostActivities(host, (_name, execute) =>
      execute({ scheduleToCloseTimeout: timeouts.greetMs, retry: { maximumAttempts: 1 } }),
    );
    const answer = await on.greet({ sandboxId: id, source: spec.source }).catch(() => null);
    if (answer === null) throw refusal('sandbox_not_running', `${id} does not answer.`);
    if (answer.content !== this.#membership.content)
      throw refusal('sandbox_not_running', `The source of ${id} has changed.`);
  }

  #isKnown({ requestId }: ClaimRequest): boolean {
    return this.#membership.claimedBy === requestId || this.#claiming === requestId;
  }

  /** @throws ApplicationFailure why it can't be had */
  #check({ spec, size, actor }: ClaimRequest): void {
    const { id, record } = this.life;
    const { claimedBy } = this.#membership;
    if (record.project !== NO_PROJECT && record.project !== (actor.project ?? DEFAULT_PROJECT))
      throw refusal('sandbox_not_found', `There is no sandbox ${id}.`);
    if (claimedBy !== null || this.#claiming !== null) throw refusal('sandbox_busy', `${id} is another's.`);
    this.#checkLiving();
    if (record.state !== 'warm') throw refusal('sandbox_not_running', `${id} is ${record.state}.`);
    if (Date.parse(record.expiresAt) - Date.now() < TOO_OLD_MS) {
      throw refusal('sandbox_not_running', `${id} is too old.`);
    }
    const own = record.spec;
    const isWished =
      spec.source === own.source &&
      spec.network.egress === own.network.egress &&
      size.cpus === record.size?.cpus &&
      size.memoryMib === record.size.memoryMib;
    if (!isWished) throw refusal('sandbox_not_running', `${id} is not what is asked for.`);
  }

  #checkLiving(): void {
    const { id, isToEnd } = this.life;
    if (isToEnd) throw refusal('sandbox_ended', `${id} is ending or has ended.`);
  }

  get #membership(): Membership {
    const { pool, id } = this.life.record;
    if (pool) return pool;
    throw refusal('sandbox_not_running', `${id} is no pool's.`);
  }
}
