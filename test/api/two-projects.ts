import { deriveSourceId } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { newBakeRecord } from '../../model/snapshots/bake-saga.ts';
import { newCapture } from '../../model/snapshots/capture-saga.ts';
import { newDelivery } from '../../model/webhooks/delivery.ts';
import { approvalRecord, poolRecord, templateRecord } from '../store/project-records.ts';
import { bulkRecord, functionRecord, functionVersion, runRecord } from '../store/run-records.ts';
import { scheduleRecord } from '../store/schedule-records.ts';
import {
  certificateRecord,
  command,
  commandId,
  imageRecord,
  playbookRecord,
  record,
  sandboxId,
  snapshot,
  snapshotId,
} from '../store/support.ts';
import { endedEvent, endpointId, endpointRecord, hookRecord } from '../store/webhook-records.ts';
import { INSTALLATION } from '../support/installation-id.ts';
import { type Door, host, keysByScope } from './support.ts';

/** Project whose resources must be invisible to the other. */
export const ALPHA = 'alpha';
export const BETA = 'beta';
/** Sources: the installation's, allowed to the first project, and created by it. */
export const SECRET_SOURCE = 'payroll-production';
export const ALPHAS_SOURCE = 'alpha.tools';
/** SHA-256 of the build context that the first project uploaded. */
export const ALPHAS_CONTEXT = 'a1'.repeat(32);
export const ALPHAS_POOL = 'alphas-pool';

export const AT = '2026-01-01T00:00:00.000Z';
export const HOST = 'kvm-1';
const source = (name: string, cloneable = true) => {
  return { name, cloneable, problem: null, cpus: 1, memoryMib: 64, diskBytes: 1 };
};
const digits = (n: number) => String(n).padStart(16, '0');
const captureIdOf = (n: number) => `cap-${digits(n)}`;
export const nameOf = (n: number) => `alphas-${n}`;
export const serialOf = (n: number) => String(7_000_000 + n);

/** Ids of the first project's two hundred resources by kind, names the second must not see, and keys of the second. */
export type World = Awaited<ReturnType<typeof twoProjects>>;

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Creates two projects on one installation: the first with two hundred resources, the second with one of each. */
export async function twoProjects({ store, key }: Door) {
  const runs = source(SECRET_SOURCE, false);
  const sources = [source('golden'), source('open'), runs, source(ALPHAS_SOURCE)];
  await store.hosts.describe(host(HOST, { sources }));
  await store.projects.create(ALPHA, { sources: [SECRET_SOURCE] });
  await store.projects.create(BETA, { sources: ['open'] });
  const keys = await Promise.all(
    range(20).map((n) => store.apiKeys.create({ name: `alphas-key-${n}`, project: ALPHA, scopes: ['admin'] })),
  );
  const [first] = keys;
  const actor = { apiKeyId: first?.key.id ?? '', agentId: 'alphas-agent', project: ALPHA };
  const sandboxes = range(40).map((n) => sandboxOf(n, actor));
  const commands = range(40).map((n) => command(n, { sandboxId: sandboxId(n), createdBy: actor }));
  const snapshots = range(50).map((n) =>
    snapshot(n, {
      project: ALPHA,
      sandboxId: sandboxId(n % 40),
      name: `alphas-save-${n}`,
      state: 'ready',
      createdBy: actor,
    }),
  );
  const captures = range(20).map((n) => captureOf(n, actor));
  for (const one of sandboxes) await store.sandboxes.create(one);
  for (const one of commands) await store.commands.create(one);
  for (const one of snapshots) await store.snapshots.create(one);
  for (const one of captures) await store.captures.create(one);
  const templates = range(10).map((n) =>
    templateRecord({
      id: snapshotId(500 + n),
      key: String(n).padStart(64, '0'),
      project: ALPHA,
      source: SECRET_SOURCE,
      state: 'ready',
      readyAt: AT,
      createdBy: actor,
    }),
  );
  for (const one of templates) await store.templates.put(one);
  const request = { command: 'alphas-secret-command' };
  const approvals = range(10).map((n) =>
    approvalRecord({ id: `apr-${digits(n)}`, project: ALPHA, request, askedBy: actor }),
  );
  for (const one of approvals) await store.approvals.create(one);
  const images = range(5).map((n) =>
    imageRecord({
      id: `img-${digits(n)}`,
      project: ALPHA,
      name: `alpha.built-${n}`,
      state: 'building',
      request: { ...imageRecord().request, dockerfile: `FROM ${ALPHAS_SOURCE}\nRUN echo alphas-step` },
      source: ALPHAS_SOURCE,
      content: 'alphas-content',
      createdBy: actor,
    }),
  );
  for (const one of images) await store.images.create(one);
  const sent = await store.sentContexts.begin(ALPHA, ALPHAS_CONTEXT);
  await store.sentContexts.complete(sent, { bytes: 1, context: { entries: [], dockerignore: '' } });
  const playbooks = range(5).map((n) =>
    playbookRecord({
      id: `pbk-${digits(n)}`,
      project: ALPHA,
      sandboxId: sandboxId(n),
      base: { source: ALPHAS_SOURCE, snapshotId: null },
      waitingFor: 'alphas-wait',
      createdBy: actor,
    }),
  );
  for (const one of playbooks) await store.playbooks.create(one);
  const functions = range(5).map((n) => `alphas-function-${n}`);
  for (const name of functions) {
    await store.functions.create(functionRecord({ project: ALPHA, name, createdBy: actor }));
    await store.functionVersions.create({ ...functionVersion(), project: ALPHA, function: name, createdBy: actor });
  }
  const alphasRuns = range(5).map((n) =>
    runRecord(n, { project: ALPHA, function: functions[0] ?? '', createdBy: actor }),
  );
  for (const one of alphasRuns) await store.runs.accept(one, Buffer.from('"alphas-event"'));
  const bulks = range(3).map((n) => bulkRecord(n, { project: ALPHA, function: functions[0] ?? '', createdBy: actor }));
  for (const one of bulks) await store.bulks.create(one);
  const hooks = functions.map((name, n) =>
    hookRecord({
      id: `hok-${digits(n)}`,
      project: ALPHA,
      function: name,
      secrets: ['alphas-hook-secret'],
      createdBy: actor,
    }),
  );
  for (const one of hooks) await store.hooks.create(one);
  const secretNames = range(5).map((n) => `alphas-secret-${n}`);
  for (const name of secretNames) {
    const about = { project: ALPHA, name, version: 1, valueId: 'v', notMasked: null, createdAt: AT, updatedAt: AT };
    await store.secrets.replace({ ...about, versions: [{ version: 1, createdBy: actor, createdAt: AT }] }, null);
    await store.secretValues.create({ project: ALPHA, name }, 'v', 'alphas-value');
  }
  const endpoints = range(3).map((n) =>
    endpointRecord({ id: endpointId(n), project: ALPHA, url: `https://alphas-${n}.example/`, createdBy: actor }),
  );
  for (const one of endpoints) await store.webhookEndpoints.create(one);
  const deliveries = endpoints.map((one, n) => newDelivery(endedEvent(n, ALPHA), one, AT));
  for (const one of deliveries) await store.webhookDeliveries.create(one, AT);
  const schedules = range(3).map((n) => `alphas-schedule-${n}`);
  for (const name of schedules) {
    const of = { project: ALPHA, name, function: functions[0] ?? '', createdBy: actor };
    await store.schedules.create(scheduleRecord(of));
  }
  await store.pools.put(poolRecord({ project: ALPHA, name: ALPHAS_POOL, source: SECRET_SOURCE, createdBy: actor }));
  for (const n of range(30)) {
    const keyId = `alphas-certificate=${serialOf(n)}`;
    await store.certificates.add(certificateRecord(serialOf(n), { sandboxId: sandboxId(n), actor, keyId }));
  }
  await store.output.put(commandId(0), 'stdout', 0, { bytes: Buffer.from('alphas-output'), marks: [] });
  await store.audit.append(sandboxId(0), {
    eventId: 'e',
    kind: 'sandbox.requested',
    actor,
    runId: null,
    hostId: HOST,
    at: AT,
    detail: {},
  });
  const prepared = { state: 'prepared', preparedBy: actor, updatedAt: AT } as const;
  await store.sources.change(
    { id: deriveSourceId(HOST, SECRET_SOURCE), hostId: HOST, installationId: INSTALLATION, name: SECRET_SOURCE },
    prepared,
  );
  await store.bakedSources.begin({ ...bakedOf(actor), state: 'ready' });
  const own = { sandbox: sandboxId(900), snapshot: snapshotId(900) };
  const beta = { apiKeyId: '0123456789ab', agentId: null, project: BETA };
  await store.sandboxes.create({ ...record(900, { state: 'running', hostId: HOST, createdBy: beta }), project: BETA });
  await store.snapshots.create(
    snapshot(900, { project: BETA, sandboxId: own.sandbox, state: 'ready', createdBy: beta }),
  );
  const names = sandboxes.flatMap(({ name }) => (name === null ? [] : [name]));
  const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);
  const ids = {
    sandboxes: idsOf(sandboxes),
    commands: idsOf(commands),
    snapshots: idsOf(snapshots),
    captures: idsOf(captures),
    templates: idsOf(templates),
    approvals: idsOf(approvals),
    images: idsOf(images),
    playbooks: idsOf(playbooks),
    runs: idsOf(alphasRuns),
    hooks: idsOf(hooks),
    endpoints: idsOf(endpoints),
    deliveries: idsOf(deliveries),
    bulks: idsOf(bulks),
  };
  const keyIds = keys.map(({ key: made }) => made.id);
  const serials = range(30).map(serialOf);
  return {
    ...ids,
    names,
    functions,
    secretNames,
    schedules,
    serials,
    keys: keyIds,
    secrets: [...Object.values(ids).flat(), ...keyIds, ...serials, 'alphas-', ALPHAS_SOURCE, SECRET_SOURCE, 'alpha'],
    beta: await keysByScope((scope) => key.in(BETA, scope)),
    own,
  };
}

type Whose = { apiKeyId: string; agentId: string; project: string };

/** Returns a sandbox; half have a name, a quarter has ended. */
function sandboxOf(n: number, createdBy: Whose): SandboxRecord {
  const state = n % 4 === 3 ? 'destroyed' : 'running';
  const changes = { project: ALPHA, state, hostId: HOST, createdBy } as const;
  return record(n, { ...changes, name: n % 2 === 0 ? nameOf(n) : null });
}

function captureOf(n: number, actor: Whose) {
  const sourceId = deriveSourceId(HOST, SECRET_SOURCE);
  const input = {
    task: 'create',
    captureId: captureIdOf(n),
    sourceId,
    hostId: HOST,
    installationId: INSTALLATION,
    source: SECRET_SOURCE,
    actor,
    at: AT,
  } as const;
  return { ...newCapture({ ...input, projects: [actor.project], allowedEgress: 'internet' }), state: 'ready' } as const;
}

function bakedOf(actor: Whose) {
  const input = {
    bakeId: 'opn-0000000000000000',
    sourceId: deriveSourceId(HOST, ALPHAS_SOURCE),
    hostId: HOST,
    installationId: INSTALLATION,
    name: ALPHAS_SOURCE,
    builderId: sandboxId(1),
  };
  return newBakeRecord({
    ...input,
    snapshot: { id: snapshotId(0), sandboxId: sandboxId(0), source: 'golden' },
    actor,
    requestedAt: AT,
  });
}
