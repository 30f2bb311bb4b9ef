import { z } from 'zod';
import { actor, encryptedField, instant } from '../fields.ts';
import type { Egress } from '../sandbox/sandbox.ts';
import { type Match, matchCommand, matchElevation, type RequestedCommands } from './command-pattern.ts';
import { APPROVER_ROLES, type ApproverRole, type Effect, type PolicyRule, policyRule } from './policy-rules.ts';

/** Rules of a project; each change makes a new version. */
export const policyRecord = z.object({
  project: z.string(),
  version: z.int().describe('From 1'),
  rules: encryptedField(z.array(policyRule)),
  createdBy: actor,
  createdAt: instant,
});
export type Policy = z.infer<typeof policyRecord>;

/** Properties of a request that rules examine; absent ones do not apply. */
export interface PolicyFacts {
  egress?: Egress;
  memoryMib?: number;
  /** Sandboxes of the project including the requested ones. */
  sandboxes?: number;
  source?: 'capture' | 'look';
  runs?: RequestedCommands;
}

/** Decision of a policy about a request. */
export type PolicyDecision =
  | { effect: 'allow' }
  | { effect: 'deny'; rules: string[] }
  | { effect: 'ask'; rules: string[]; role: ApproverRole; expiresSeconds: number };

/**
 * Returns the strictest effect of the matching rules. An unclear match of a command rule requires approval, even if the
 * rule denies.
 */
export function evaluatePolicy(rules: readonly PolicyRule[], facts: PolicyFacts): PolicyDecision {
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

/** Lowest number of sandboxes allowed by rules of given effects, with the names of those rules. */
export interface CountRule {
  sandboxes: number;
  rules: string[];
}

/** Returns undefined when no such rule counts sandboxes. */
export function getCountRule(rules: readonly PolicyRule[], effects: readonly Effect[]): CountRule | undefined {
  const counting = rules.flatMap(({ name, when, effect }) =>
    'sandboxesOver' in when && effects.includes(effect) ? [{ name, most: when.sandboxesOver }] : [],
  );
  if (counting.length === 0) return undefined;
  const sandboxes = Math.min(...counting.map(({ most }) => most));
  return { sandboxes, rules: counting.filter(({ most }) => most === sandboxes).map(({ name }) => name) };
}

/** True when a rule depends on the number of sandboxes. */
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
