import type { Model } from 'mongoose';
import type { ThrottleRule } from '../../../model/functions/function.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { takeTicket } from '../../../model/functions/throttle.ts';
import { prefixRange } from '../../mongo/below.ts';
import type { QueueFields, RunDocument } from '../run-document.ts';
import { hashKey, prefixOf } from '../run-place.ts';

type Ticket = Required<Pick<QueueFields, 'ticket' | 'ticketAt' | 'ticketUntil'>>;

/** Throttle that admits no run yet. */
export interface Throttled extends Pick<ThrottleRule, 'onFull'> {
  why: 'throttle';
  isOfAll: boolean;
  /** Earliest admission, ms since 1970. */
  notBefore: number;
}

const DIGITS = 12;

/**
 * Throttle tickets. A ticket is `<project>/<function>/<key>/<n>`, stored in the run that took it, also after its end,
 * and unique: the last one decides when the next run may start, and of two concurrent claims one is refused.
 */
export class RunTickets {
  constructor(private readonly model: Model<RunDocument>) {}

  /** @param rule null without a throttle @param now milliseconds since 1970 */
  async next(run: RunRecord, rule: ThrottleRule | null, now: number): Promise<Ticket | Throttled | null> {
    if (!rule) return null;
    const prefix = `${prefixOf({ project: run.project, name: run.function })}/${hashKey(run.throttleKey)}`;
    const last = await this.#last(prefix);
    const next = takeTicket(rule, last && { at: last.ticketAt, until: last.ticketUntil }, now);
    if ('notBefore' in next) {
      return { why: 'throttle', onFull: rule.onFull, isOfAll: rule.key === null, notBefore: next.notBefore };
    }
    const n = last ? Number(last.ticket.slice(prefix.length + 1)) + 1 : 0;
    const ticket = `${prefix}/${String(n).padStart(DIGITS, '0')}`;
    return { ticket, ticketAt: next.ticket.at, ticketUntil: next.ticket.until };
  }

  async isTaken({ ticket }: Ticket): Promise<boolean> {
    return (await this.model.findOne({ ticket }, { _id: 1 }).lean()) !== null;
  }

  async #last(prefix: string): Promise<Ticket | null> {
    const shown = { ticket: 1, ticketAt: 1, ticketUntil: 1 } as const;
    const [last] = await this.model
      .find({ ticket: prefixRange(prefix) }, shown)
      .sort({ ticket: -1 })
      .limit(1)
      .lean<Ticket[]>();
    return last ?? null;
  }
}
