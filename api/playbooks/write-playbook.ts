import type { Context } from 'hono';
import { playbookIdFrom, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { isPlaybookOver, type PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import { checkPolicy } from '../../services/approvals/check-policy.ts';
import { deriveId, type IdempotentCall } from '../../services/idempotent-call.ts';
import { admit } from '../../services/sandboxes/admission.ts';
import { ownSandboxInput } from '../../services/sandboxes/own-sandbox.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Responder, reply } from '../http/route.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { type Described, describedBy, playbookWish } from './described.ts';
import { playbookView, type WritePlaybookRequest } from './playbook-schemas.ts';

/** More than a playbook may take: its own TTL ends the fresh sandbox when nobody else does any more. Seconds. */
const TTL_SECONDS = 14_400;

/** POST /v1/sandboxes/{id}/playbook: the same request again, with its Idempotency-Key, is told of the one that is written. */
export async function answerWrite(
  responder: Responder<ReturnType<typeof playbookView>>,
  sandboxId: string,
  body: WritePlaybookRequest,
): Promise<Response> {
  const { c, deps } = responder;
  const { store } = deps;
  const again = async (id: string) => {
    const record = await store.playbooks.get(id);
    return record && reply(isPlaybookOver(record.state) ? 200 : 202, playbookView(record));
  };
  return answerOnce(responder, { idFrom: playbookIdFrom, again }, async (attempt) => {
    await checkPolicy(deps, attempt, c.get('apiKey').project, playbookWish(deps, attempt.subjectId, sandboxId, body));
    return reply(202, playbookView(await begun(c, deps, attempt, sandboxId, body)));
  });
}

async function begun(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: IdempotentCall,
  sandboxId: string,
  body: WritePlaybookRequest,
): Promise<PlaybookRecord> {
  const { store, sagas } = deps;
  const { subjectId: id } = attempt;
  const present = attempt.isFresh ? null : await store.playbooks.get(id);
  if (present && present.state !== 'diffing') return present;
  const { record, input } = await wished(c, deps, attempt, await describedBy(deps, sandboxId, body));
  await store.playbooks.create(record);
  await sagas.playbooks.write(input);
  return record;
}

/** @throws MayflyError what a create refuses with, sandbox_ended, sandbox_not_running, no_host */
async function wished(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: IdempotentCall,
  { sandbox, host, since, snapshotId, origin }: Described,
): Promise<{ record: PlaybookRecord; input: PlaybookInput }> {
  const { subjectId: id } = attempt;
  const actor = actorOf(c);
  const at = new Date().toISOString();
  const checkerId = deriveId(sandboxIdFrom, id, 'checker');
  await admit(deps, [checkerId], origin.size, attempt);
  const snapshots = {
    now: deriveId(snapshotIdFrom, id, 'now'),
    fresh: deriveId(snapshotIdFrom, id, 'fresh'),
    applied: deriveId(snapshotIdFrom, id, 'applied'),
  };
  const { source } = sandbox.spec;
  const [sandboxId, base] = [sandbox.id, snapshotId ?? source];
  const checker = ownSandboxInput(c.get('apiKey'), actor, {
    id: checkerId,
    origin,
    requestedAt: at,
    ttlSeconds: TTL_SECONDS,
    purpose: `tries the playbook of ${sandboxId}`,
    builds: 'playbook',
  });
  return {
    record: recordOf(id, actor, sandboxId, { base: { source, snapshotId }, checkerId, at }),
    input: { playbookId: id, sandboxId, host, since, base, checker, snapshots, actor },
  };
}

function recordOf(
  id: string,
  createdBy: ReturnType<typeof actorOf>,
  sandboxId: string,
  { base, checkerId, at }: Pick<PlaybookRecord, 'base' | 'checkerId'> & { at: string },
): PlaybookRecord {
  return {
    id,
    project: createdBy.project,
    sandboxId,
    state: 'diffing',
    base,
    checkerId,
    written: null,
    check: null,
    unchecked: null,
    failure: null,
    waitingFor: null,
    createdBy,
    createdAt: at,
    endedAt: null,
    updatedAt: at,
  };
}
