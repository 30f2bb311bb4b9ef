import type { Context } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { passesFilter } from '../../model/functions/hook-filter.ts';
import { LIMITS } from '../../model/limits.ts';
import { HeldBytes } from '../../services/hooks/held-bytes.ts';
import { type KnownHook, knownHook, verifyNothing } from '../../services/hooks/known-hook.ts';
import { TokenBuckets } from '../../services/ingress/token-buckets.ts';
import type { Accepted, Arrival } from '../../services/intake/accept-event.ts';
import type { Acceptance } from '../../services/intake/acceptance.ts';
import type { SignedRequest } from '../../webhooks/signed-request.ts';
import { verifySignature } from '../../webhooks/verify.ts';
import { open } from '../http/auth.ts';
import type { App, AppDeps, Env } from '../http/context.ts';
import { handshakeHeaders } from './handshake.ts';
import { hookEvent, signatureInvalid } from './hook-event.ts';
import { sentHeaders, sentPieces } from './sent-bytes.ts';

export const HOOK_PATH = '/h/:hookId';
const { hooks: HOOKS } = LIMITS.functions;
/** All that are not there share a bucket, or guesses would have one each. */
const NOWHERE = '';
/** Bytes for which an answer may take as long again: a large event is longer on its way into the store. */
const LARGE = 4_194_304;

type Limits = Record<'bodyBytes' | 'heldBytes' | 'requestsPerSecond' | 'answerMs' | 'checkMs', number>;
type Deps = Pick<AppDeps, 'store' | 'logger' | 'hookAnswerMs'>;

/**
 * Where signed events from outside come in, and nothing else of the API: another app may have it at a port of its own.
 * @param limits for tests
 */
export function hookDoorRoutes(app: App, deps: Deps, acceptance: Acceptance, limits: Limits = limitsOf(deps)): void {
  const door = new HookDoor(deps, acceptance, limits);
  app.post(HOOK_PATH, open, (c) => door.take(c));
  app.options(HOOK_PATH, async (c) => {
    const known = await door.find(c.req.param('hookId'));
    return c.body(null, 200, handshakeHeaders(c, known?.hook.allowedOrigins ?? [], limits.requestsPerSecond));
  });
}

class HookDoor {
  readonly #buckets: TokenBuckets;
  readonly #held: HeldBytes;

  constructor(
    private readonly deps: Deps,
    private readonly acceptance: Acceptance,
    private readonly limits: Limits,
  ) {
    this.#buckets = new TokenBuckets(limits.requestsPerSecond);
    this.#held = new HeldBytes(limits.heldBytes);
  }

  /** Null: none that takes events. @throws MayflyError too_many_requests, store_unavailable */
  async find(id: string): Promise<KnownHook | null> {
    const known = await within(this.limits.answerMs, knownHook(this.deps.store, this.acceptance, id));
    if (this.#buckets.take(known?.hook.id ?? NOWHERE)) return known;
    throw tooMany(`More than ${this.limits.requestsPerSecond} requests a second come here.`);
  }

  /** @throws MayflyError hook_not_found, signature_invalid, and why it is not taken */
  async take(c: Context<Env>): Promise<Response> {
    const known = await this.find(c.req.param('hookId') ?? '');
    const sent = sentPieces(c, this.limits.bodyBytes);
    if (!known) {
      await verifyNothing(sent);
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
      const request = { headers: sentHeaders(c), body: Buffer.concat(pieces), now: Date.now() };
      const { answerMs, checkMs } = this.limits;
      const isHeldTo = known.target.version.spec.input.schema !== null;
      const ms = answerMs * (1 + bytes / LARGE) + (isHeldTo ? checkMs : 0);
      return await within(ms, this.#answer(c, known, request));
    } finally {
      this.#held.giveBack(id, bytes);
    }
  }

  async #answer(c: Context<Env>, known: KnownHook, request: SignedRequest): Promise<Response> {
    const { hook } = known;
    const verdict = verifySignature(hook.scheme, hook.secrets, request);
    if (!verdict.verified) {
      this.deps.logger.info({ hookId: hook.id, why: verdict.why }, 'what came to a hook was refused');
      throw signatureInvalid();
    }
    const received = hookEvent(hook, request, verdict);
    if (received === null) return c.json({ ping: true }, 200);
    if (hook.filter && !passesFilter(hook.filter, received.event)) return c.json({ filtered: true }, 200);
    const { run, isNew } = await this.#accept(known, received);
    return isNew ? c.json({ runId: run.id }, 202) : c.json({ runId: run.id, duplicate: true }, 200);
  }

  async #accept({ hook, store, target }: KnownHook, received: Omit<Arrival, 'actor'>): Promise<Accepted> {
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

/** One that is set is of both: a test on a busy machine waits for either. */
function limitsOf({ hookAnswerMs: ms }: Deps): Limits {
  return ms === undefined ? HOOKS : { ...HOOKS, answerMs: ms, checkMs: ms };
}

function tooMany(why: string): MayflyError {
  return new MayflyError('too_many_requests', why, { retryAfterSeconds: 1 });
}

/** What is begun goes on: the same event, sent again, is told of its run. @throws MayflyError store_unavailable */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
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
