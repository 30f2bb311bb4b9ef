import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { matchesFilter } from '../../model/events/hook-filter.ts';
import { hookIdFrom, ID_BYTES, isHookId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { HookRecord } from '../../model/webhooks/hook.ts';
import type { Store } from '../../store/connect.ts';
import { createProjectStore, type ProjectStore } from '../../store/project-store.ts';
import { TokenBuckets } from '../ingress/token-buckets.ts';
import type { IncomingEvent, IngestResult } from '../intake/accept-event.ts';
import type { EventIntake } from '../intake/acceptance.ts';
import type { CachedFunction } from '../intake/function-cache.ts';
import { verifySignature } from '../webhooks/signing/sign.ts';
import type { Header, SignedRequest } from '../webhooks/signing/verdict.ts';
import { hookEvent, signatureInvalid } from './hook-event.ts';

/** Budget of the bytes of unanswered bodies, per name. */
class ByteBudget {
  readonly #held = new Map<string, number>();

  /** @param most bytes per name */
  constructor(private readonly most: number) {}

  /** Returns false when they would exceed the budget. */
  take(name: string, bytes: number): boolean {
    const held = (this.#held.get(name) ?? 0) + bytes;
    if (held > this.most) return false;
    this.#held.set(name, held);
    return true;
  }

  release(name: string, bytes: number): void {
    const left = (this.#held.get(name) ?? 0) - bytes;
    if (left > 0) this.#held.set(name, left);
    else this.#held.delete(name);
  }
}

const { hooks: HOOKS } = LIMITS.functions;
/** Shared bucket of all unknown hooks: with one each, guesses would be unlimited. */
const UNKNOWN_BUCKET = '';
/** Bytes that add one more answer time to the limit: a large event takes longer to store. */
const LARGE = 4_194_304;

type Limits = Record<'bodyBytes' | 'heldBytes' | 'requestsPerSecond' | 'answerMs' | 'checkMs', number>;
interface Deps {
  store: Store;
  logger: Logger;
  /** Limit of the time to an answer, ms, unless the event is large. `@default` 1 s */
  hookAnswerMs?: number;
}

/** Response to the sender of an event. */
interface Answer {
  status: 200 | 202;
  body: { ping: true } | { filtered: true } | { runId: string; duplicate?: true };
}

/** Request that came to a hook. */
interface Delivery {
  hookId: string;
  headers: readonly Header[];
  pieces: AsyncIterable<Uint8Array>;
}

/** Endpoint that takes signed events from outside. @param limits for tests */
export class HookEndpoint {
  readonly #buckets: TokenBuckets;
  readonly #held: ByteBudget;

  constructor(
    private readonly deps: Deps,
    private readonly acceptance: EventIntake,
    readonly limits: Limits = limitsOf(deps),
  ) {
    this.#buckets = new TokenBuckets(limits.requestsPerSecond);
    this.#held = new ByteBudget(limits.heldBytes);
  }

  /** Returns a hook; null when none takes events. @throws MayflyError too_many_requests, store_unavailable */
  async find(id: string): Promise<FoundHook | null> {
    const known = await limitWait(this.limits.answerMs, findHook(this.deps.store, this.acceptance, id));
    if (this.#buckets.take(known?.hook.id ?? UNKNOWN_BUCKET)) return known;
    throw tooMany(`More than ${this.limits.requestsPerSecond} requests a second come here.`);
  }

  /** @throws MayflyError hook_not_found, signature_invalid, and errors of the intake */
  async take({ hookId, headers, pieces: sent }: Delivery): Promise<Answer> {
    const known = await this.find(hookId);
    if (!known) {
      await verifyStandIn(sent);
      throw new MayflyError('hook_not_found', 'There is no such hook.');
    }
    const { id } = known.hook;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const piece of sent) {
        if (!this.#held.take(id, piece.length)) throw tooMany(`More than ${this.limits.heldBytes} bytes come at once.`);
        bytes += piece.length;
        pieces.push(piece);
      }
      const request = { headers, body: Buffer.concat(pieces), now: Date.now() };
      const { answerMs, checkMs } = this.limits;
      const isHeldTo = known.target.version.spec.input.schema !== null;
      const ms = answerMs * (1 + bytes / LARGE) + (isHeldTo ? checkMs : 0);
      return await limitWait(ms, this.#answer(known, request));
    } finally {
      this.#held.release(id, bytes);
    }
  }

  async #answer(known: FoundHook, request: SignedRequest): Promise<Answer> {
    const { hook } = known;
    const verdict = verifySignature(hook.scheme, hook.secrets, request);
    if (!verdict.verified) {
      this.deps.logger.info({ hookId: hook.id, why: verdict.why }, 'what came to a hook was refused');
      throw signatureInvalid();
    }
    const received = hookEvent(hook, request, verdict);
    if (received === null) return { status: 200, body: { ping: true } };
    if (hook.filter && !matchesFilter(hook.filter, received.event)) return { status: 200, body: { filtered: true } };
    const { run, isNew } = await this.#accept(known, received);
    return isNew ? { status: 202, body: { runId: run.id } } : { status: 200, body: { runId: run.id, duplicate: true } };
  }

  async #accept({ hook, store, target }: FoundHook, received: Omit<IncomingEvent, 'actor'>): Promise<IngestResult> {
    const { project, createdBy } = hook;
    const actor = { apiKeyId: createdBy.apiKeyId, agentId: null, project };
    try {
      return await this.acceptance.accept({ store }, target, { ...received, actor, checkMs: this.limits.checkMs });
    } catch (error) {
      if (isMayflyError(error, 'event_conflict')) {
        this.deps.logger.warn(
          { hookId: hook.id, conflict: error.message },
          'an event came to a hook under an id of another',
        );
      }
      throw error;
    }
  }
}

/** A configured limit replaces both times: a test on a busy machine waits for either. */
function limitsOf({ hookAnswerMs: ms }: Deps): Limits {
  return ms === undefined ? HOOKS : { ...HOOKS, answerMs: ms, checkMs: ms };
}

function tooMany(why: string): MayflyError {
  return new MayflyError('too_many_requests', why, { retryAfterSeconds: 1 });
}

/**
 * Limits a wait; the work continues. The same event sent again returns its run.
 * @throws MayflyError store_unavailable
 */
async function limitWait<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new MayflyError('store_unavailable', 'The store took too long.')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Hook that takes events, with the store of its project. */
interface FoundHook {
  hook: HookRecord;
  store: ProjectStore;
  target: CachedFunction;
}

/** Stand-in for an unknown hook, so that its lookup takes the same time. */
const UNKNOWN_HOOK = { id: hookIdFrom(new Uint8Array(ID_BYTES)), project: '-', function: 'none' };
const NO_SECRET = randomBytes(32);
const NO_SIGNATURE = Buffer.alloc(32);
const GONE = new Set(['function_not_found', 'function_draining']);

/**
 * Returns a hook; null, after the same work, when it is missing or disabled, or its function or project is deleted.
 * @throws MayflyError store_unavailable
 */
async function findHook(store: Store, acceptance: EventIntake, id: string): Promise<FoundHook | null> {
  const found = await store.hooks.get(isHookId(id) ? id : UNKNOWN_HOOK.id);
  const hook = found?.disabledAt === null ? found : null;
  const { project, function: name } = hook ?? UNKNOWN_HOOK;
  const seen = createProjectStore(store, { project, isOperator: false });
  const [isThere, target] = await Promise.all([
    !hook || project === DEFAULT_PROJECT || store.projects.lately(project),
    acceptance.target({ store: seen }, name).catch(nullIfGone),
  ]);
  return hook && isThere && target ? { hook, store: seen, target } : null;
}

/** Takes as long as a failed verification of a signature, and buffers nothing. */
async function verifyStandIn(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const hmac = createHmac('sha256', NO_SECRET);
  for await (const piece of pieces) hmac.update(piece);
  timingSafeEqual(hmac.digest(), NO_SIGNATURE);
}

function nullIfGone(error: unknown): null {
  if (error instanceof MayflyError && GONE.has(error.code)) return null;
  throw error;
}
