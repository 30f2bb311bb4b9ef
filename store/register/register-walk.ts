import type { AnchorTip } from './anchor.ts';
import type { ChainMark, KeyMark, RegisterBody, RegisterDocument, RegisterFact } from './facts.ts';
import { numberOf } from './facts.ts';
import { GENESIS, type RegisterKey } from './register-key.ts';

/** Entries by which the anchor may lag: each control worker may have been killed between its entry and the anchor. */
export const MOST_UNANCHORED = 16;

export interface RegisterProblem {
  /** Number of the entry; null for the register as a whole, or an API key. */
  number: number | null;
  kind: 'missing' | 'truncated' | 'edited' | 'inserted' | 'anchor' | 'key';
  detail: string;
}

/** Facts of the register about one chain. */
export interface KnownChain {
  /** Hash of its first entry; null when that was missing. */
  first: string | null;
  /** True when the register has two different first entries: the chain began again. */
  isRestarted: boolean;
  /** Greatest recorded length. */
  head: Omit<ChainMark, 'subject'> | null;
  /** End of the entries that retention removed. */
  removed: number;
}

/** Reads the register in order, and collects its facts and problems. */
export class LogVerification {
  readonly chains = new Map<string, KnownChain>();
  readonly keys = new Map<string, KeyMark>();
  readonly problems: RegisterProblem[] = [];
  /** Facts worth reporting that are not problems. */
  readonly notes: string[] = [];
  /** Missing entries that were not accepted as lost. */
  readonly gaps: { from: number; to: number }[] = [];
  /** Number of genuine entries. */
  entries = 0;
  /** Number of the next entry. */
  next = 0;
  /** Hash of the entry before; null when that one is missing or not genuine, which is a problem of its own. */
  #hash: string | null = GENESIS;
  readonly #missing: { from: number; to: number }[] = [];
  readonly #accepted: { from: number; to: number }[] = [];

  /** @param anchor read before the register */
  constructor(
    private readonly key: RegisterKey,
    private readonly anchor: AnchorTip | null,
  ) {}

  take(document: RegisterDocument): void {
    const number = numberOf(document._id);
    if (number === null) {
      this.#problem(null, 'inserted', `${JSON.stringify(document._id)} is not part of it`);
      return;
    }
    if (number > this.next) {
      this.#missing.push({ from: this.next, to: number - 1 });
      this.#hash = null;
    }
    this.next = number + 1;
    const isGenuine = this.key.isGenuine(document);
    if (!isGenuine) this.#problem(number, 'edited', 'its hash does not fit its number and content');
    else if (this.#hash !== null && document.previousHash !== this.#hash)
      this.#problem(number, 'edited', 'it does not follow from the entry before it');
    if (number === this.anchor?.number && document.hash !== this.anchor.hash)
      this.#problem(number, 'edited', 'it is not the entry that the anchor knows');
    this.#hash = isGenuine ? document.hash : null;
    if (isGenuine) this.#read(number, JSON.parse(document.body) as RegisterBody);
  }

  /** Reports missing entries. */
  end(): void {
    for (const gap of this.#missing) this.#gap(gap);
    const { anchor } = this;
    if (anchor && anchor.number >= this.next) this.#gap({ from: this.next, to: anchor.number }, anchor);
  }

  /** @param now anchor, read after the register */
  compare(now: AnchorTip | null): void {
    if (!now) {
      const detail = 'there is no anchor: nothing outside the store tells where the register ends';
      if (this.entries > 0) this.#problem(null, 'anchor', detail);
      return;
    }
    const ahead = this.next - 1 - now.number;
    if (ahead <= MOST_UNANCHORED) return;
    const detail = `it knows entry ${now.number}, made at ${now.at}, and there are ${ahead} more: it is an older copy`;
    this.#problem(null, 'anchor', detail);
  }

  #gap({ from, to }: { from: number; to: number }, anchor?: AnchorTip): void {
    const which = from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
    if (this.#accepted.some((known) => known.from <= from && to <= known.to)) return;
    this.gaps.push({ from, to });
    const end = anchor ? `, which the anchor knows, made at ${anchor.at}: the store was set back or cut` : '';
    this.#problem(from, anchor ? 'truncated' : 'missing', `${which} missing${end}`);
  }

  #read(number: number, { at, facts }: RegisterBody): void {
    this.entries++;
    for (const fact of facts) this.#fact(number, at, fact);
  }

  #fact(number: number, at: string, fact: RegisterFact): void {
    switch (fact.kind) {
      case 'birth':
        this.#birth(fact.subject, fact.first);
        break;
      case 'head':
        this.#head(fact);
        break;
      case 'removed':
        this.#head(fact);
        this.#chain(fact.subject).removed = fact.count;
        break;
      case 'key':
        this.#key(number, fact.keyId, fact);
        break;
      case 'anchored':
        this.notes.push(`the anchor was missing or old at ${at}, and was made anew after entry ${fact.after}`);
        break;
      case 'accepted':
        this.#accepted.push(fact);
        this.notes.push(`entries ${fact.from} to ${fact.to} are lost, as was accepted at ${at}: ${fact.reason}`);
        break;
    }
  }

  #chain(subject: string): KnownChain {
    const known = this.chains.get(subject) ?? { first: null, isRestarted: false, head: null, removed: 0 };
    this.chains.set(subject, known);
    return known;
  }

  /** Records a birth; the same one may be repeated after a crash. */
  #birth(subject: string, first: string | null): void {
    const known = this.#chain(subject);
    known.isRestarted ||= known.first !== null && first !== null && known.first !== first;
    known.first ??= first;
  }

  #head({ subject, count, hash }: ChainMark): void {
    const known = this.#chain(subject);
    if (count > (known.head?.count ?? 0)) known.head = { count, hash };
  }

  #key(number: number, keyId: string, { scopes, createdAt, revokedAt }: KeyMark): void {
    const before = this.keys.get(keyId);
    const mark = { scopes, createdAt, revokedAt };
    this.keys.set(keyId, before ?? mark);
    if (!before) return;
    for (const change of keyChanges(before, mark)) this.#problem(number, 'key', `API key ${keyId} ${change}`);
    before.revokedAt ??= revokedAt;
  }

  #problem(number: number | null, kind: RegisterProblem['kind'], detail: string): void {
    this.problems.push({ number, kind, detail });
  }
}

/** Returns the forbidden changes of an API key. */
export function keyChanges(before: KeyMark, after: KeyMark): string[] {
  const changes: string[] = [];
  if (before.scopes.join() !== after.scopes.join())
    changes.push(`had the scopes ${before.scopes.join()} and has ${after.scopes.join()}`);
  if (before.createdAt !== after.createdAt) changes.push(`was made at ${before.createdAt}, not ${after.createdAt}`);
  if (before.revokedAt !== null && before.revokedAt !== after.revokedAt)
    changes.push(`was revoked at ${before.revokedAt}${after.revokedAt === null ? ' and is good again' : ''}`);
  return changes;
}
