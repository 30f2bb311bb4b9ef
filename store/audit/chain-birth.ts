import type { AuditEntry } from '../../model/sandbox/audit.ts';
import type { KnownChain, LogVerification } from '../register/register-walk.ts';
import type { AuditHead, ExpiryMark } from './audit-chain.ts';
import type { AuditProblem } from './audit-problem.ts';

/** Facts about a chain that were found without the register. */
interface FoundChain {
  head: AuditHead | null;
  expired: ExpiryMark | null;
  /** End of the entries that exist, or should by its head. */
  length: number;
  genuine: ReadonlyMap<number, AuditEntry>;
}

/** Returns the problem of a chain without any stored part; null when retention removed all of it. */
export function absence(subject: string, register: LogVerification | undefined): AuditProblem | null {
  const known = register?.chains.get(subject);
  if (!known) return { seq: null, kind: 'no-chain', detail: 'neither entries nor a head are stored' };
  if (known.removed > 0 && known.removed >= (known.head?.count ?? 0)) return null;
  const count = known.head?.count ?? 1;
  const detail = `the register knows it with ${count} entries or more, and neither entries nor a head are stored`;
  return { seq: null, kind: 'gone', detail };
}

/** Compares a chain with the register. */
export function compareWithRegister(subject: string, chain: FoundChain, register: LogVerification): AuditProblem[] {
  const known = register.chains.get(subject);
  if (known) return [...beginningProblems(known, chain), ...furthestProblems(known, chain)];
  if ((chain.head?.count ?? 0) === 0) return [];
  return [{ seq: null, kind: 'unborn', detail: 'the register, which knows every chain, has no birth of it' }];
}

function beginningProblems({ first, isRestarted }: KnownChain, { genuine }: FoundChain): AuditProblem[] {
  const own = genuine.get(0)?.hash;
  if (isRestarted) return [{ seq: 0, kind: 'restarted', detail: 'the register knows two first entries of it' }];
  if (own === undefined || first === null || own === first) return [];
  return [{ seq: 0, kind: 'restarted', detail: 'it is not the first entry that the register knows' }];
}

/** Compares lengths. A birth is recorded after the first entry, so a born chain has one. */
function furthestProblems({ first, head }: KnownChain, { expired, length, genuine }: FoundChain): AuditProblem[] {
  const count = head?.count ?? (first === null ? 0 : 1);
  if (expired && expired.count > count) return [];
  if (length < count) {
    const detail = `the register knows ${count} entries, and there are ${length}: it was set back`;
    return [{ seq: length, kind: 'rolled-back', detail }];
  }
  if (!head) return [];
  const own = expired?.count === head.count ? expired.hash : genuine.get(head.count - 1)?.hash;
  if (own === undefined || own === head.hash) return []; // a missing entry is named for that
  return [{ seq: head.count - 1, kind: 'restarted', detail: 'it is not the entry that the register knows' }];
}

/**
 * Returns a problem for each id that must occur in the chain and does not. Removed entries may have held it, so none
 * then.
 */
export function findUnrecorded({ expired, genuine }: FoundChain, told: readonly string[]): AuditProblem[] {
  if (expired || told.length === 0) return [];
  const bodies = [...genuine.values()].map(({ body }) => body);
  return told
    .filter((id) => !bodies.some((body) => body.includes(id)))
    .map((id) => ({ seq: null, kind: 'unrecorded', detail: `${id} is in the store, and no entry tells of it` }));
}
