import type { MayflyError } from '../../model/errors.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { actorOf, waitAsPreferred } from '../http/context.ts';
import { type Responder, reply } from '../http/route.ts';

/** Deletion by a workflow, with the views of its record. */
interface Deletion<T, V> {
  /** @throws MayflyError when the resource never existed */
  read: () => Promise<T>;
  view: (record: T) => V;
  isGone: (record: T) => boolean;
  /** Starts the workflow, or joins the running one. */
  begin: (record: T, actor: Actor) => Promise<void>;
  /** Resolves when the workflow has ended; rejects with the signal's reason. */
  ended: (record: T, signal: AbortSignal) => Promise<void>;
  /** Returns why the resource still exists after the workflow. */
  refusal?: (record: T) => MayflyError | null;
}

/**
 * Answers DELETE of a resource that a workflow removes: 200 once it is removed, also earlier; 202 when the preferred
 * wait ends first.
 * @throws MayflyError from `read`, `begin` and `refusal`
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
