// Guards: a run obeys the policy of its project at admission. Costs nothing.
import { expect, it } from 'vitest';
import { refuseByPolicy } from '../../activities/function/prepared/policy.ts';
import { getRequestedCommands } from '../../model/approvals/command-pattern.ts';
import type { PolicyRule } from '../../model/approvals/policy-rules.ts';

const facts = { egress: 'internet', memoryMib: 512, runs: getRequestedCommands({ command: 'nc x' }) } as const;
const rule = (when: PolicyRule['when'], effect: PolicyRule['effect']): PolicyRule => ({
  name: 'r',
  when,
  effect,
  role: 'approvals:decide',
  expiresSeconds: 60,
});
const admitted = (rules: unknown) =>
  refuseByPolicy({ policies: { current: async () => rules && { rules } } } as never, 'default', facts);

it.each([
  [{ command: 'nc' }, 'deny'],
  [{ command: 'nc' }, 'ask'],
  [{ egress: 'internet' }, 'deny'],
  [{ memoryMibOver: 511 }, 'deny'],
] as const)('%j: %s', async (when, effect) => {
  await expect(admitted([rule(when, effect)])).rejects.toMatchObject({ code: 'policy_denied' });
});

it('admits a run that no rule matches, and returns the limit on sandboxes', async () => {
  expect(await admitted(null)).toBeUndefined();
  expect(await admitted([rule({ command: 'curl' }, 'deny')])).toBeUndefined();
  expect(await admitted([rule({ sandboxesOver: 3 }, 'deny')])).toEqual({ sandboxes: 3, rules: ['r'] });
});

it('rejects a run when the policy cannot be read', async () => {
  await expect(admitted('rules')).rejects.toMatchObject({ code: 'policy_denied' });
});
