import type { AnchorTip } from './anchor.ts';
import type { ChainMark, KeyMark, RegisterBody, RegisterDocument, RegisterFact } from './facts.ts';
import { numberOf } from './facts.ts';
import { BEGINNING, type RegisterKey } from './register-key.ts';

/** As many control workers as anybody runs: each may have been killed between its entry and the anchor. Entries. */
export const MOST_UNANCHORED = 16;

export interface RegisterProblem {
  /** Of the entry; null for what concerns the register as a whole, or an API key. */
  number: number | null;
  kind: 'missing' | 'truncated' | 'edited' | 'inserted' | 'anchor' | 'key';
  detail: string;
}

/** What the register says of one chain. */
export interface KnownChain {
  /** Hash of its first entry; null where that was not there any more. */
  first: string | null;
  /** Two first entries are known: it was begun again. */
  isRestarted: boolean;
  /** The furthest that it had come. */
  head: Omit<ChainMark, 'subject'> | null;
  /** Up to where retention took entries away. */
  removed: number;
}

/** Reads the register in its order, and says what it tells and what is wrong with it. */
export class RegisterWalk {
  readonly chains = new Map<string, KnownChain>();
  readonly keys = new Map<string, KeyMark>();
  readonly problems: RegisterProblem[] = [];
  /** What is worth knowing, and breaks nothing. */
  readonly notes: string[] = [];
  /** What is missing, and nobody has accepted. */
  readonly gaps: { from: number; to: number }[] = [];
  /** How many genuine entries there are. */
  entries = 0;
  /** The number of the entry that comes next. */
  next = 0;
  /** Of the entry before; null where that is missing or not genuine, and named for that itself. */
  #hash: string | null = BEGINNING;
  readonly #missing: { from: number; to: number }[] = [];
  readonly #accepted: { from: number; to: number }[] = [];

  /** @param anchor as it was before the register was read */
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

  /** Says what is missing. */
  end(): void {
    for (const gap of this.#missing) this.#gap(gap);
    const { anchor } = this;
    if (anchor && anchor.number >= this.next) this.#gap({ from: this.next, to: anchor.number }, anchor);
  }

  /** @param now the anchor as it is after the register was read */
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

  /** Told again after a crash, it is the same entry. */
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

/** What may not have become of an API key since it was seen. */
export function keyChanges(before: KeyMark, after: KeyMark): string[] {
  const changes: string[] = [];
  if (before.scopes.join() !== after.scopes.join())
    changes.push(`had the scopes ${before.scopes.join()} and has ${after.scopes.join()}`);
  if (before.createdAt !== after.createdAt) changes.push(`was made at ${before.createdAt}, not ${after.createdAt}`);
  if (before.revokedAt !== null && before.revokedAt !== after.revokedAt)
    changes.push(`was revoked at ${before.revokedAt}${after.revokedAt === null ? ' and is good again' : ''}`);
  return changes;
}
