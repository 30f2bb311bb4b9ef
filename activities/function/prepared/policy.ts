import { type CountRule, evaluatePolicy, getCountRule, type PolicyFacts } from '../../../model/approvals/policy.ts';
import { MayflyError } from '../../../model/errors.ts';
import { policyOf } from '../../../services/approvals/policy-check.ts';
import type { Store } from '../../../store/connect.ts';

/**
 * Refuses requests that the project's policy denies or requires approval for: a run has no approver.
 * @returns the policy's limit on the number of sandboxes
 * @throws MayflyError policy_denied
 */
export async function refuseByPolicy(
  { policies }: Pick<Store, 'policies'>,
  project: string,
  facts: PolicyFacts,
): Promise<CountRule | undefined> {
  const policy = await policyOf({ policies }, project);
  if (!policy) return undefined;
  const { rules } = policy;
  const verdict = evaluatePolicy(rules, facts);
  if (verdict.effect !== 'allow') {
    const names = verdict.rules.join(', ');
    throw new MayflyError('policy_denied', `By ${names} of the policy of the project, as it is at the admission.`);
  }
  return getCountRule(rules, ['deny', 'ask']);
}
