import { type CountRule, countRuleOf, type PolicyFacts, verdictOf } from '../../../model/approvals/policy.ts';
import { MayflyError } from '../../../model/errors.ts';
import { policyOf } from '../../../services/approvals/policy-check.ts';
import type { Store } from '../../../store/connect.ts';

/**
 * Refuses what a function does that the policy of its project, as it is now, denies, or lets be done with an approval alone:
 * a run has nobody who asks for one.
 * @returns what the policy says of how many sandboxes there may be, which is counted where they are admitted
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
  const verdict = verdictOf(rules, facts);
  if (verdict.effect !== 'allow') {
    const names = verdict.rules.join(', ');
    throw new MayflyError('policy_denied', `By ${names} of the policy of the project, as it is at the admission.`);
  }
  return countRuleOf(rules, ['deny', 'ask']);
}
