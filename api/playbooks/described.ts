import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { egress } from '../../model/fields.ts';
import { type HostRef, includesHost } from '../../model/host.ts';
import { playbookIdFrom, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { isPlaybookOver, type PlaybookRecord, playbookRecord } from '../../model/playbook/playbook.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import { idSchema, snapshotId } from '../../model/request-fields.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { getHost, isFinal } from '../../model/sandbox/sandbox-state.ts';
import { listContents } from '../../model/source-content.ts';
import { checkPolicy, type PolicyRequest } from '../../services/approvals/check-policy.ts';
import { deriveId, type IdempotentCall } from '../../services/idempotent-call.ts';
import { admit } from '../../services/sandboxes/admission.ts';
import { ownSandboxInput } from '../../services/sandboxes/own-sandbox.ts';
import { type Origin, placeableOrigin } from '../../services/sandboxes/placement.ts';
import { requireSandbox, requireSnapshot } from '../../services/service-deps.ts';
import { actorOf, type Env, type RequestDeps } from '../http/context.ts';
import { type Responder, reply } from '../http/route.ts';
import { viewOf } from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';

export const playbookParams = z.strictObject({
  id: idSchema('playbook'),
});

export const writePlaybook = z
  .strictObject({
    from: snapshotId
      .optional()
      .openapi({ description: 'What changed since this snapshot; since it began, unless said' }),
    network: z
      .strictObject({ egress })
      .optional()
      .openapi({ description: 'What the fresh sandbox can reach; what the sandbox can, unless said' }),
  })
  .openapi('WritePlaybook');

type WritePlaybookRequest = z.output<typeof writePlaybook>;

export const playbookAnswer = playbookRecord.omit({}).openapi('Playbook');
export const playbookView = viewOf(playbookAnswer);

/** Subject of a playbook: a sandbox, its host and its origin. */
interface PlaybookSubject {
  sandbox: SandboxRecord;
  host: HostRef;
  /** Creation of the sandbox or its snapshot; ISO 8601. */
  since: string;
  /** Snapshot that a fresh sandbox is made from; null: the source. */
  snapshotId: string | null;
  origin: Origin;
}

/**
 * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running, snapshot_not_found, no_host, and errors of
 *   placement
 */
async function resolveSubject(
  deps: RequestDeps,
  sandboxId: string,
  { from, network }: WritePlaybookRequest,
): Promise<PlaybookSubject> {
  const sandbox = await requireSandbox(deps, sandboxId);
  const host = hostWith(sandbox);
  const { spec } = sandbox;
  const snapshotId = from ?? spec.snapshotId;
  const since = snapshotId === null ? sandbox.createdAt : (await requireSnapshot(deps, snapshotId)).createdAt;
  const of = snapshotId === null ? { source: spec.source, captureId: spec.captureId ?? undefined } : { snapshotId };
  const origin = await placeableOrigin(deps.store, { ...of, network: network ?? { egress: spec.network.egress } });
  if (includesHost(origin.hosts, host))
    return { sandbox, host, since, snapshotId, origin: { ...origin, hosts: [host] } };
  throw new MayflyError(
    'no_host',
    `Only ${host.hostId}, where ${sandbox.id} is, can compare it, and has not what it began as.`,
  );
}

/** Returns the policy's view of a playbook: the fresh sandbox that it creates. */
function playbookPolicyRequest(
  deps: RequestDeps,
  playbookId: string,
  sandboxId: string,
  body: WritePlaybookRequest,
): PolicyRequest {
  const { store } = deps;
  return {
    action: 'playbook.write',
    isBegun: async () => (await store.playbooks.get(playbookId)) !== null,
    resolve: async () => {
      const { sandbox, snapshotId, origin } = await resolveSubject(deps, sandboxId, body);
      const { network, size, source } = origin;
      return {
        facts: { egress: network.egress, memoryMib: size.memoryMib, sandboxes: 1 },
        request: { sandboxId: sandbox.id, source, snapshotId, network, ...size },
        content: snapshotId === null ? listContents(await store.hosts.list(), source) : [],
      };
    },
  };
}

/** @throws MayflyError sandbox_ended, sandbox_not_running */
function hostWith(sandbox: SandboxRecord): HostRef {
  const { id, state } = sandbox;
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `${id} is ${state}: it has no present state.`);
  const host = getHost(sandbox);
  if (host !== null && (state === 'running' || state === 'paused')) return host;
  throw new MayflyError(
    'sandbox_not_running',
    `The sandbox ${id} is ${state}: a playbook is written of one that runs, or is paused.`,
  );
}

/** TTL of the fresh sandbox, s, longer than any playbook takes: the last resort against a leaked one. */
const TTL_SECONDS = 14_400;

/** Answers POST /v1/sandboxes/{id}/playbook: one playbook per Idempotency-Key. */
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
    await checkPolicy(
      deps,
      attempt,
      c.get('apiKey').project,
      playbookPolicyRequest(deps, attempt.subjectId, sandboxId, body),
    );
    return reply(202, playbookView(await startPlaybook(c, deps, attempt, sandboxId, body)));
  });
}

async function startPlaybook(
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
  const { record, input } = await newPlaybook(c, deps, attempt, await resolveSubject(deps, sandboxId, body));
  await store.playbooks.create(record);
  await sagas.playbooks.write(input);
  return record;
}

/** @throws MayflyError errors of a create, sandbox_ended, sandbox_not_running, no_host */
async function newPlaybook(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: IdempotentCall,
  { sandbox, host, since, snapshotId, origin }: PlaybookSubject,
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
