import type { MayflyError } from '../../model/errors.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { actorOf, waitAsPreferred } from '../http/context.ts';
import { type Responder, reply } from '../http/route.ts';

/** What a saga removes, and what is recorded of it: before, meanwhile and afterwards. */
interface Deletion<T, V> {
  /** @throws MayflyError when there never was such a thing */
  read: () => Promise<T>;
  view: (record: T) => V;
  isGone: (record: T) => boolean;
  /** Starts the saga, or joins the one that is under way. */
  begin: (record: T, actor: Actor) => Promise<void>;
  /** Settles when the saga has ended; rejects with the signal's reason. */
  ended: (record: T, signal: AbortSignal) => Promise<void>;
  /** Why it is still there when the saga has ended. */
  refusal?: (record: T) => MayflyError | null;
}

/**
 * The answer to DELETE of anything that a saga removes: 200 when nothing of it is left, also when that was so before;
 * 202 when the caller's preference was over first.
 * @throws MayflyError what `read`, `begin` and `refusal` say
 */
export async function answerDeletion<T, V>(
  { c, respond }: Responder<V>,
  { read, view, isGone, begin, ended, refusal }: Deletion<T, V>,
): Promise<Response> {
  const before = await read();
  const wasGone = isGone(before);
  if (!wasGone) await begin(before, actorOf(c));
  const isOver = await waitAsPreferred(c, async (signal) => {
    if (!wasGone) await ended(before, signal);
  });
  const record = await read();
  if (isGone(record)) return respond(reply(200, view(record)));
  const error = isOver ? refusal?.(record) : null;
  if (error) throw error;
  return respond(reply(202, view(record)));
}
