import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { playbookIdFrom, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { hostOf, isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { refuseUnlessAllowed } from '../approvals/permission.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Attempt, answerOnce, freedWhenRefused, furtherId, isHeard } from '../http/idempotency.ts';
import { admit, uncountedWhenRefused } from '../resources/admission.ts';
import { type Origin, placeableOrigin, proposedTo } from '../resources/placement.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { requireSnapshot } from '../resources/snapshot-view.ts';
import type { writePlaybook } from './playbook-schemas.ts';
import { playbookView } from './playbook-view.ts';

type Request = z.output<typeof writePlaybook>;

/** More than a playbook may take: its own TTL ends the fresh sandbox when nobody else does any more. Seconds. */
const TTL_SECONDS = 14_400;

/** POST /v1/sandboxes/{id}/playbook: the same request again, with its Idempotency-Key, is told of the one that is written. */
export async function answerWrite(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  body: Request,
  key: string | undefined,
): Promise<Response> {
  const { store } = deps;
  return answerOnce(c, store, { idFrom: playbookIdFrom, key, body }, async (attempt) => {
    const record = await freedWhenRefused(store, attempt, () => begun(c, deps, attempt, sandboxId, body));
    c.header('Location', `/v1/playbooks/${record.id}`);
    return { response: c.json(playbookView(record), 202), isKept: isHeard(c) };
  });
}

async function begun(
  c: Context<Env>,
  deps: RequestDeps,
  attempt: Attempt,
  sandboxId: string,
  body: Request,
): Promise<PlaybookRecord> {
  const { store, sagas } = deps;
  const { subjectId: id } = attempt;
  const present = attempt.isFresh ? null : await store.playbooks.get(id);
  if (present && present.state !== 'diffing') return present;
  const { record, input } = await wished(c, deps, id, await requireSandbox(deps, sandboxId), body);
  const checkerId = record.checkerId;
  await uncountedWhenRefused(deps, attempt, checkerId, async () => {
    await store.playbooks.create(record);
    await sagas.writePlaybook(input);
  });
  return record;
}

/** @throws MayflyError what a create refuses with, sandbox_ended, sandbox_not_running, no_host, policy_denied */
async function wished(
  c: Context<Env>,
  deps: RequestDeps,
  id: string,
  sandbox: SandboxRecord,
  { from, network }: Request,
): Promise<{ record: PlaybookRecord; input: PlaybookInput }> {
  const actor = actorOf(c);
  const host = hostWith(sandbox);
  const { spec } = sandbox;
  const snapshotId = from ?? spec.snapshotId;
  const since = snapshotId === null ? sandbox.createdAt : (await requireSnapshot(deps, snapshotId)).createdAt;
  const of = snapshotId === null ? { source: spec.source, captureId: spec.captureId ?? undefined } : { snapshotId };
  const origin = await placeableOrigin(deps.store, { ...of, network: network ?? { egress: spec.network.egress } });
  const here = { ...origin, hostIds: origin.hostIds.filter((hostId) => hostId === host.hostId) };
  if (here.hostIds.length === 0) {
    throw new MayflyError(
      'no_host',
      `Only ${host.hostId}, where ${sandbox.id} is, can compare it, and has not what it began as.`,
    );
  }
  const facts = { egress: origin.network.egress, memoryMib: origin.size.memoryMib };
  const sandboxes = (await deps.store.approvals.sandboxesOf(actor.project)) + 1;
  const instead = 'ask for a fork of it, which can wait, and write its changes down there';
  await refuseUnlessAllowed(deps, actor.project, { ...facts, sandboxes }, instead);
  const at = new Date().toISOString();
  const checkerId = furtherId(sandboxIdFrom, id, 'checker');
  await admit(deps, [checkerId], origin.size);
  const snapshots = {
    now: furtherId(snapshotIdFrom, id, 'now'),
    fresh: furtherId(snapshotIdFrom, id, 'fresh'),
    applied: furtherId(snapshotIdFrom, id, 'applied'),
  };
  const base = { source: spec.source, snapshotId };
  const checker = checkerInput(c, checkerId, sandbox.id, here, at);
  return {
    record: recordOf(id, actor, sandbox.id, { base, checkerId, at }),
    input: {
      playbookId: id,
      sandboxId: sandbox.id,
      host,
      since,
      base: snapshotId ?? spec.source,
      checker,
      snapshots,
      actor,
    },
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

/** @throws MayflyError sandbox_ended, sandbox_not_running */
function hostWith(sandbox: SandboxRecord): HostRef {
  const { id, state } = sandbox;
  if (isFinal(state) || state === 'destroying')
    throw new MayflyError('sandbox_ended', `${id} is ${state}: it has no present state.`);
  const host = hostOf(sandbox);
  if (host !== null && (state === 'running' || state === 'paused')) return host;
  throw new MayflyError(
    'sandbox_not_running',
    `The sandbox ${id} is ${state}: a playbook is written of one that runs, or is paused.`,
  );
}

/** The fresh sandbox, in which callers change nothing. */
function checkerInput(c: Context<Env>, id: string, of: string, origin: Origin, requestedAt: string): SandboxInput {
  const { source, snapshotId, captureId, network, size } = origin;
  return {
    id,
    spec: {
      source,
      snapshotId,
      captureId,
      cpus: null,
      memoryMib: null,
      ttlSeconds: TTL_SECONDS,
      idleSeconds: null,
      autoResume: false,
      metadata: { purpose: `tries the playbook of ${of}` },
      agentId: null,
      network,
    },
    size,
    createdBy: actorOf(c),
    requestedAt,
    begin: 'create',
    builds: 'playbook',
    ...proposedTo(c.get('apiKey'), origin),
  };
}
