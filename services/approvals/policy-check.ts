import { evaluatePolicy, type Policy, type PolicyDecision, type PolicyFacts } from '../../model/approvals/policy.ts';
import { policyRules } from '../../model/approvals/policy-rules.ts';
import { MayflyError } from '../../model/errors.ts';
import type { StoredPolicy } from '../../store/approvals/policies.ts';
import type { ServiceDeps } from '../service-deps.ts';

interface CurrentPolicy extends Pick<Policy, 'project' | 'version' | 'rules'> {
  /** False when the stored policy cannot be parsed: then `policyOf` denies every request. */
  isReadable: boolean;
  createdBy: Policy['createdBy'] | null;
  createdAt: string | null;
}

type Policies = { policies: { current(project: string): Promise<StoredPolicy | null> } };

/** Returns the current policy of a project; version 0 when none was set. */
export async function currentPolicy({ policies }: Policies, project: string): Promise<CurrentPolicy> {
  const found = await policies.current(project);
  if (!found) return { project, version: 0, rules: [], isReadable: true, createdBy: null, createdAt: null };
  const { version, createdBy, createdAt } = found;
  const { success: isReadable, data: rules = [] } = policyRules.safeParse(found.rules);
  return { project, version, rules, isReadable, createdBy, createdAt };
}

/**
 * Returns the policy that applies; null when everything is allowed.
 * @throws MayflyError policy_denied when it cannot be read
 */
export async function policyOf(store: Policies, project: string): Promise<Pick<Policy, 'version' | 'rules'> | null> {
  const { version, rules, isReadable } = await currentPolicy(store, project);
  if (!isReadable)
    throw new MayflyError('policy_denied', `The policy of ${project} cannot be read; an admin sets it anew.`);
  return rules.length === 0 ? null : { version, rules };
}

/**
 * Refuses a request that cannot wait for an approval, unless the policy allows it.
 * @throws MayflyError policy_denied, also where an approval is needed
 */
export async function assertAllowed(
  { store }: Pick<ServiceDeps, 'store'>,
  project: string,
  facts: PolicyFacts,
  instead: string,
): Promise<void> {
  const policy = await policyOf(store, project);
  const verdict: PolicyDecision = policy ? evaluatePolicy(policy.rules, facts) : { effect: 'allow' };
  if (verdict.effect === 'deny') throw policyDenied(verdict.rules);
  if (verdict.effect === 'ask') throw policyDenied(verdict.rules, `It cannot be asked for this way: ${instead}.`);
}

export function policyDenied(rules: readonly string[], more = ''): MayflyError {
  return new MayflyError('policy_denied', `By ${nameRules(rules)} of the policy of the project. ${more}`.trim());
}

export function nameRules(rules: readonly string[]): string {
  return `the rule${rules.length > 1 ? 's' : ''} ${rules.join(', ')}`;
}
