import { z } from 'zod';
import { actor, encrypted, instant } from '../fields.ts';
import type { Egress } from '../sandbox/sandbox.ts';
import { type Match, matchCommand, matchElevation, type Runs } from './command-pattern.ts';
import { APPROVER_ROLES, type ApproverRole, type Effect, type PolicyRule, policyRule } from './policy-rules.ts';

/** Rules of a project; each change is another version. */
export const policyRecord = z.object({
  project: z.string(),
  version: z.int().describe('From 1'),
  rules: encrypted(z.array(policyRule)),
  createdBy: actor,
  createdAt: instant,
});
export type Policy = z.infer<typeof policyRecord>;

/** What rules look at of a request; what is absent is not in it. */
export interface PolicyFacts {
  egress?: Egress;
  memoryMib?: number;
  /** Sandboxes that its project would have with those that it makes. */
  sandboxes?: number;
  source?: 'capture' | 'look';
  runs?: Runs;
}

/** What a policy says to a request. */
export type Verdict =
  | { effect: 'allow' }
  | { effect: 'deny'; rules: string[] }
  | { effect: 'ask'; rules: string[]; role: ApproverRole; expiresSeconds: number };

/** The strictest of the rules that hold. Whether one of a command holds may be unclear: then it asks, also one that denies. */
export function verdictOf(rules: readonly PolicyRule[], facts: PolicyFacts): Verdict {
  const held = rules.map((rule) => ({ rule, match: matchRule(rule.when, facts) }));
  const denying = held.filter(({ rule, match }) => rule.effect === 'deny' && match === 'matches');
  if (denying.length > 0) return { effect: 'deny', rules: denying.map(({ rule }) => rule.name) };
  const asking = held.flatMap(({ rule, match }) => (rule.effect !== 'allow' && match !== 'differs' ? [rule] : []));
  if (asking.length === 0) return { effect: 'allow' };
  return {
    effect: 'ask',
    rules: asking.map(({ name }) => name),
    role: strictestRole(asking),
    expiresSeconds: Math.min(...asking.map(({ expiresSeconds }) => expiresSeconds)),
  };
}

/** The fewest sandboxes that rules of these effects let a project have, and which of them do. */
export interface CountRule {
  sandboxes: number;
  rules: string[];
}

/** Undefined: none counts them. */
export function countRuleOf(rules: readonly PolicyRule[], effects: readonly Effect[]): CountRule | undefined {
  const counting = rules.flatMap(({ name, when, effect }) =>
    'sandboxesOver' in when && effects.includes(effect) ? [{ name, most: when.sandboxesOver }] : [],
  );
  if (counting.length === 0) return undefined;
  const sandboxes = Math.min(...counting.map(({ most }) => most));
  return { sandboxes, rules: counting.filter(({ most }) => most === sandboxes).map(({ name }) => name) };
}

/** Whether the number of sandboxes is looked at. */
export function countsSandboxes(rules: readonly PolicyRule[]): boolean {
  return rules.some(({ when }) => 'sandboxesOver' in when);
}

function strictestRole(rules: readonly PolicyRule[]): ApproverRole {
  return APPROVER_ROLES[Math.max(...rules.map(({ role }) => APPROVER_ROLES.indexOf(role)))] ?? 'operator';
}

function matchRule(
  when: PolicyRule['when'],
  { egress, memoryMib = 0, sandboxes = 0, source, runs }: PolicyFacts,
): Match {
  if ('egress' in when) return matchIf(egress === when.egress);
  if ('memoryMibOver' in when) return matchIf(memoryMib > when.memoryMibOver);
  if ('sandboxesOver' in when) return matchIf(sandboxes > when.sandboxesOver);
  if ('source' in when) return matchIf(source === when.source);
  if (!runs) return 'differs';
  return 'elevation' in when ? matchElevation(runs) : matchCommand(runs, when.command);
}

function matchIf(holds: boolean): Match {
  return holds ? 'matches' : 'differs';
}
