import type { AuditEntry } from '../../model/sandbox/audit.ts';
import type { LogVerification } from '../register/register-walk.ts';
import type { AuditHead, ChainKey, ExpiryMark } from './audit-chain.ts';
import { GENESIS } from './audit-chain.ts';
import type { EntryDocument } from './audit-documents.ts';
import { entryId, parseExpired, parseHead } from './audit-documents.ts';
import type { AuditProblem } from './audit-problem.ts';
import { absence, compareWithRegister, findUnrecorded } from './chain-birth.ts';

/** Result of verifying one chain. A clock that went back is a problem, but `ok` may still be true. */
export interface Verification {
  ok: boolean;
  /** Number of genuine entries. */
  entries: number;
  /** Number of earlier entries that were exported and then removed; absent when none were. */
  expired?: number;
  /** Number of events that wait until the chain can be continued; absent when none do. */
  waiting?: number;
  problems: AuditProblem[];
}

/** Stored state of a chain without its entries. */
export interface ChainState {
  head: string | null;
  /** Mark of removed entries, see ExpiredEnd. */
  expired?: string | undefined;
}

/** Facts that a chain is verified against. */
export interface Expectation {
  /** Register, read before the chain; without it only the chain is verified. */
  register?: LogVerification | undefined;
  /** Ids that must occur in its entries. */
  told?: readonly string[];
}

/**
 * Verifies one chain: `documents` are all below the sandbox's name, read after `state`. Genuine entries beyond the head
 * are accepted: their writer was about to advance it, or did so after it was read.
 */
export function verifyChain(
  key: ChainKey,
  sandboxId: string,
  state: ChainState,
  documents: readonly EntryDocument[],
  { register, told = [] }: Expectation = {},
): Verification {
  const { head: headText, expired: expiredText } = state;
  if (headText === null && expiredText === undefined && documents.length === 0) {
    const problem = absence(sandboxId, register);
    return { ok: problem === null, entries: 0, problems: problem ? [problem] : [] };
  }
  const head = genuineHead(key, sandboxId, headText);
  const byId = new Map(documents.map((document) => [document._id, document]));
  const expired = genuineExpiry(key, sandboxId, expiredText);
  const length = chainLength(sandboxId, Math.max(head?.count ?? 0, expired?.count ?? 0), byId);
  const walk = walkEntries(key, sandboxId, length, byId, expired);
  const known = head?.count ?? length;
  const found = { head, expired, length, genuine: walk.genuine };
  const problems = [
    ...(head ? headProblems(head, walk.genuine, expired) : [forgedHeadProblem(headText)]),
    ...(expiredText !== undefined && !expired ? [forgedExpiry()] : []),
    ...walk.problems.map((problem) => toInserted(problem, known)),
    ...findStrays(sandboxId, length, documents),
    ...(register ? compareWithRegister(sandboxId, found, register) : []),
    ...findUnrecorded(found, told),
    ...findClockRegressions(walk.genuine),
  ];
  const ok = problems.every((problem) => problem.kind === 'time-went-back');
  return { ok, entries: walk.genuine.size, ...(expired && { expired: expired.count }), problems };
}

function genuineExpiry(key: ChainKey, sandboxId: string, text: string | undefined): ExpiryMark | null {
  const expired = text === undefined ? null : parseExpired(text);
  return expired && key.isGenuineExpiry(sandboxId, expired) ? expired : null;
}

function forgedExpiry(): AuditProblem {
  const detail = 'that entries were exported and removed was not written by a holder of the key';
  return { seq: null, kind: 'forged-head', detail };
}

function genuineHead(key: ChainKey, sandboxId: string, text: string | null): AuditHead | null {
  const head = text === null ? null : parseHead(text);
  return head && key.isGenuineHead(sandboxId, head) ? head : null;
}

function forgedHeadProblem(text: string | null): AuditProblem {
  const detail =
    text === null ? 'the chain has entries but no head' : 'the head was not written by a holder of the key';
  return { seq: null, kind: 'forged-head', detail };
}

/** Returns the end of the consecutive entries, at least that of the head. */
function chainLength(sandboxId: string, count: number, byId: ReadonlyMap<string, EntryDocument>): number {
  let length = count;
  while (byId.has(entryId(sandboxId, length))) length++;
  return length;
}

interface Walk {
  genuine: Map<number, AuditEntry>;
  problems: AuditProblem[];
}

/** @param expired end of the exported entries, before which entries may be missing */
function walkEntries(
  key: ChainKey,
  sandboxId: string,
  length: number,
  byId: ReadonlyMap<string, EntryDocument>,
  expired: ExpiryMark | null,
): Walk {
  const walk: Walk = { genuine: new Map(), problems: [] };
  const end = lastPresent(sandboxId, length, byId);
  let previous: string | null = GENESIS;
  for (let seq = 0; seq < length; seq++) {
    const entry = byId.get(entryId(sandboxId, seq));
    if (!entry) {
      const isExpired = expired !== null && seq < expired.count;
      if (!isExpired) walk.problems.push(toMissingProblem(seq, end));
      previous = isExpired && seq === expired.count - 1 ? expired.hash : null;
      continue;
    }
    const problem = entryProblem(key, sandboxId, seq, length, entry, previous);
    if (problem) walk.problems.push(problem);
    else walk.genuine.set(seq, entry);
    previous = problem ? null : entry.hash;
  }
  return walk;
}

function lastPresent(sandboxId: string, length: number, byId: ReadonlyMap<string, EntryDocument>): number {
  let last = length - 1;
  while (last >= 0 && !byId.has(entryId(sandboxId, last))) last--;
  return last;
}

function toMissingProblem(seq: number, lastSeq: number): AuditProblem {
  if (seq > lastSeq) return { seq, kind: 'truncated', detail: 'the head knows this entry, but the chain ends before' };
  return { seq, kind: 'missing', detail: 'there are entries before and after, but not this one' };
}

/**
 * @param previous hash of the entry before; null when that one is missing or not genuine, which is a problem of its own
 */
function entryProblem(
  key: ChainKey,
  sandboxId: string,
  seq: number,
  length: number,
  entry: EntryDocument,
  previous: string | null,
): AuditProblem | null {
  const hashAt = (place: number) => key.hash(sandboxId, place, entry.previousHash, entry.body);
  if (entry.hash !== hashAt(seq)) {
    const origin = Array.from({ length }, (_, place) => place).find((place) => hashAt(place) === entry.hash);
    if (origin === undefined) return { seq, kind: 'edited', detail: 'its hash does not fit its content' };
    return { seq, kind: 'reordered', detail: `it was written as entry ${origin}` };
  }
  if (entry.sandboxId !== sandboxId || entry.seq !== seq) {
    return { seq, kind: 'edited', detail: 'its fields name another sandbox or number than its id' };
  }
  if (previous !== null && entry.previousHash !== previous) {
    return { seq, kind: 'edited', detail: 'it does not follow from the entry before it' };
  }
  return null;
}

function headProblems(
  head: AuditHead,
  genuine: ReadonlyMap<number, AuditEntry>,
  expired: ExpiryMark | null,
): AuditProblem[] {
  const last = genuine.get(head.count - 1) ?? (expired?.count === head.count ? expired : undefined);
  if (!last || last.hash === head.hash) return [];
  return [{ seq: head.count - 1, kind: 'edited', detail: 'its hash is not the one that the head knows' }];
}

/** Turns `edited` into `inserted` beyond the head, where Mayfly never wrote. */
function toInserted(problem: AuditProblem, known: number): AuditProblem {
  return problem.kind === 'edited' && problem.seq !== null && problem.seq >= known
    ? { ...problem, kind: 'inserted' }
    : problem;
}

/** Finds documents below the sandbox's name that no number of the chain accounts for. */
function findStrays(sandboxId: string, length: number, documents: readonly EntryDocument[]): AuditProblem[] {
  const expected = new Set(Array.from({ length }, (_, seq) => entryId(sandboxId, seq)));
  return documents
    .filter(({ _id }) => !expected.has(_id))
    .map(({ _id }) => ({ seq: null, kind: 'inserted', detail: `${JSON.stringify(_id)} is not part of the chain` }));
}

function findClockRegressions(genuine: ReadonlyMap<number, AuditEntry>): AuditProblem[] {
  const problems: AuditProblem[] = [];
  let latest = '';
  for (const [seq, entry] of genuine) {
    const at = String((JSON.parse(entry.body) as { at?: unknown }).at);
    if (at < latest) problems.push({ seq, kind: 'time-went-back', detail: `${at} comes after ${latest}` });
    else latest = at;
  }
  return problems;
}
