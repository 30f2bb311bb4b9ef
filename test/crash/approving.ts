import { ApprovalNeededError } from '../../clients/typescript/http/problem.ts';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { ask, outcomeOf } from './asking.ts';
import { type Act, type Stage, wish } from './stage.ts';

/** Policy that matches no other act. */
const RULES = [{ name: 'internet-is-asked-for', when: { egress: 'internet' }, effect: 'ask' }] as const;

/** Deciders by stage, created before any request. */
const deciders = new WeakMap<Stage, MayflyClient>();

async function deciderOf(stage: Stage): Promise<MayflyClient> {
  const known = deciders.get(stage);
  if (known) return known;
  await ask(() => stage.client.approvals.setPolicy(RULES));
  const { secret } = await ask((o) => stage.client.createKey({ name: 'decider', scopes: ['approvals:decide'] }, o));
  const decider = new MayflyClient({ baseUrl: stage.mayfly.apiUrl, apiKey: secret });
  deciders.set(stage, decider);
  return decider;
}

/** Create that another key approves; used once, with a kill before the request, decision, use or start. */
export const APPROVED_CREATE: Act = {
  prepare: async (stage) => {
    await deciderOf(stage);
    return [];
  },
  run: (stage, _ids, key) =>
    outcomeOf(async () => {
      const { approvals } = await deciderOf(stage);
      const wanted = { ...wish(stage), network: { egress: 'internet' as const } };
      try {
        await ask((o) => stage.client.createSandbox(wanted, { ...o, waitSeconds: 0 }), key);
      } catch (error) {
        if (!(error instanceof ApprovalNeededError)) throw error;
        const { id, digest } = error.approval;
        await ask(() => approvals.approve(id, { digest }));
      }
      const { id, createdBy } = await ask((o) => stage.client.createSandbox(wanted, o), key);
      const { approvalId = '' } = createdBy;
      const { state, usedFor } = await ask(() => approvals.get(approvalId));
      if (state !== 'used' || usedFor !== id) return `${approvalId} is ${state} for ${usedFor}`;
      return (await ask(() => stage.client.getSandbox(id))).state;
    }, 'running'),
};
