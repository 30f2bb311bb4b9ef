import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { hostQueue, sandboxWorkflowId } from '../../../../model/sagas/queues.ts';
import type { SandboxRecord } from '../../../../model/sandbox/sandbox.ts';
import { ControlTemporalClient } from '../../../../temporal/reconciliation.ts';
import { ApiTemporalClient } from '../../../../temporal/temporal-sagas.ts';
import { Closers } from '../../../../worker/config/closers.ts';
import { readConfig, type TemporalTls } from '../../../../worker/config/config.ts';
import { localUsersProbe } from '../../../../worker/doctor/local-users.ts';
import { ProbeContext } from '../../../../worker/doctor/surroundings.ts';
import { temporalProbe } from '../../../../worker/doctor/temporal.ts';
import { payloadKeyPath, temporalClient } from '../../../../worker/payloads/data-converter.ts';
import { startProxyPart } from '../../../../worker/proxy/proxy-part.ts';
import { connectTemporal } from '../../../../worker/servers/temporal.ts';
import { readTemporalTls } from '../../../../worker/servers/temporal-tls.ts';
import { INSTALLATION } from '../../../support/installation-id.ts';
import { makeCertificates, proxyTls, temporalTls } from '../../../support/temporal-certificates.ts';
import { useFolder } from '../../../support/use-folder.ts';
import { useMayfly } from '../../../support/use-mayfly.ts';
import { ATTACKS, type Attacks, attacked, OF_THE_API, OTHER } from '../../../worker/proxy/attacks.ts';

/**
 * A compromised host worker and API: scripts with their certificates and all their keys. The sandbox is on the host
 * `test`.
 */
const mayfly = useMayfly();
const closers = new Closers();
const PERMISSION_DENIED = 7;
const folder = useFolder();
let address: string;
let sandbox: SandboxRecord;
const connections = new Map<string, NativeConnection>();

beforeAll(async () => {
  await makeCertificates(folder, ['proxy-server', 'api', 'host-test', 'host-other', 'control']);
  const { dataConverter } = mayfly();
  const settings = { ...proxyTls(folder), MAYFLY_PROXY_PORT: '0', MAYFLY_STATE_DIR: join(folder, 'state') };
  const servers = { TEMPORAL_ADDRESS: inject('temporalAddress'), MONGODB_URI: mayfly().config.mongodbUri ?? '' };
  const { temporalAddress = '', ...config } = readConfig({ ...settings, ...servers });
  const logger = pino({ level: 'silent' });
  const storeUri = servers.MONGODB_URI;
  const deps = { config: { ...config, temporalAddress }, temporalAddress, storeUri, dataConverter, logger, closers };
  ({ address } = await startProxyPart(deps));
  for (const name of ['api', 'host-test', 'host-other']) connections.set(name, await through(name));
});
beforeEach(async () => {
  sandbox = await mayfly().create();
});
afterAll(async () => {
  for (const connection of connections.values()) await connection.close();
  await closers.close();
});

/** Connects with the certificate of a process. */
function through(name: string): Promise<NativeConnection> {
  return connectTemporal(address, filesOf(name));
}

function filesOf(name: string): TemporalTls {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_CERT: cert, TEMPORAL_TLS_KEY: key } = temporalTls(folder, name);
  return { ca, cert, key, serverName: undefined, credentialsDir: undefined };
}

function connectionOf(name: string): NativeConnection {
  const connection = connections.get(name);
  if (!connection) throw new Error(`nobody is called ${name}`);
  return connection;
}

function clientOf(name: string) {
  return temporalClient({ connection: connectionOf(name), dataConverter: mayfly().dataConverter });
}

const namespace = 'default';
const actor = { apiKeyId: 'admin', agentId: null, project: 'default' };

function target() {
  const encoded = async (value: unknown) => {
    const [codec] = mayfly().dataConverter.payloadCodecs ?? [];
    return { payloads: (await codec?.encode([defaultPayloadConverter.toPayload(value)])) ?? [] };
  };
  const { observer } = mayfly().machine();
  return attacked({ sandboxId: sandbox.id, newSandbox: mayfly().input(), queue: hostQueue(observer), encoded });
}

/** Returns the status code of each attack; null for one that succeeded. */
async function answers(name: string, attacks: Attacks): Promise<Record<string, unknown>> {
  // Not the workers' own connection, which corrects some requests.
  const connection = await Connection.connect({ address, tls: await readTemporalTls(filesOf(name)) });
  const found: Record<string, unknown> = {};
  const at = target();
  for (const [what, attack] of Object.entries(attacks)) {
    found[what] = await attack(connection.workflowService, at).then(
      () => null,
      (error: { code?: unknown }) => error.code ?? error,
    );
  }
  await connection.close();
  return found;
}

async function nothingComesOf(attack: () => Promise<unknown>): Promise<void> {
  const before = (await mayfly().client.workflow.getHandle(sandboxWorkflowId(sandbox.id)).describe()).historyLength;
  await attack();
  expect(await mayfly().record(sandbox.id)).toEqual(sandbox);
  const { status, historyLength } = await mayfly().client.workflow.getHandle(sandboxWorkflowId(sandbox.id)).describe();
  expect({ status: status.name, historyLength }).toEqual({ status: 'RUNNING', historyLength: before });
}

function allDenied(attacks: Attacks): Record<string, unknown> {
  return Object.fromEntries(Object.keys(attacks).map((what) => [what, PERMISSION_DENIED]));
}

test('a compromised host gets only the work of its own queue from Temporal', async () => {
  const attacks = { ...ATTACKS, ...OF_THE_API };
  await nothingComesOf(async () => expect(await answers('host-other', attacks)).toEqual(allDenied(attacks)));
});

test('a compromised API can start workflows, but not run, read or end them', async () => {
  await nothingComesOf(async () => expect(await answers('api', ATTACKS)).toEqual(allDenied(ATTACKS)));
});

test('the host of a sandbox can suspend it for space, and nothing else', async () => {
  const client = clientOf('host-test');
  const operation = { operationId: 'opn-0000000000000002', actor };
  await nothingComesOf(async () => {
    await expect(
      new ControlTemporalClient(client).sandboxes.operate(sandbox.id, { kind: 'pause', ...operation }),
    ).rejects.toMatchObject({
      cause: { code: PERMISSION_DENIED },
    });
  });
  const operationId = 'opn-0000000000000003';
  await new ControlTemporalClient(client).sandboxes.operate(sandbox.id, {
    kind: 'suspend-for-space',
    operationId,
    cause: 'quota_exceeded',
    why: 'a test',
  });
  await mayfly().until(sandbox.id, ({ stalledBy }) => stalledBy !== null);
});

test("permitted requests pass: a sandbox by the API, and a host's reports about its own", async () => {
  const sagas = new ApiTemporalClient(clientOf('api'), { signer: mayfly().requestKey.signer({ process: 'api' }) });
  const input = mayfly().input();
  await sagas.sandboxes.create(input);
  await sagas.sandboxes.settled(input.id, AbortSignal.timeout(60_000));
  expect(await mayfly().record(input.id)).toMatchObject({ state: 'running' });
  const { hostId, installationId } = mayfly().machine().observer;
  await new ApiTemporalClient(clientOf('host-test')).reconciler.reconcileHost({
    hostId,
    installationId,
    graceMs: 60_000,
  });
  // The workflow has the host inspect it again, and the machine lives.
  await new ApiTemporalClient(clientOf('host-test')).sandboxes.reportMachineEnd(input.id, {
    hostId,
    reason: 'crashed',
    seenAt: input.requestedAt,
  });
  await sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor: input.createdBy });
  await sagas.sandboxes.ended(input.id, AbortSignal.timeout(60_000));
  expect(await mayfly().record(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
});

test('a task can be completed only by the host that received it', async () => {
  const worker = await Worker.create({
    connection: mayfly().client.connection as NativeConnection,
    dataConverter: mayfly().dataConverter,
    taskQueue: 'rogue',
    workflowsPath: fileURLToPath(new URL('../../../worker/rogue-workflow.ts', import.meta.url)),
  });
  const name = hostQueue({ hostId: OTHER, installationId: INSTALLATION });
  const { workflowService: own } = connectionOf('host-other');
  await worker.runUntil(async () => {
    const args = ['anything', name, {}];
    const run = mayfly().client.workflow.execute('rogue', { workflowId: randomUUID(), taskQueue: 'rogue', args });
    const { taskToken } = await own.pollActivityTaskQueue({ namespace, taskQueue: { name } });
    const { workflowService: another } = connectionOf('host-test');
    for (const [service, token] of [
      [another, taskToken],
      [another, taskToken.subarray(0, -32)],
      [own, taskToken.subarray(0, -32)],
    ] as const) {
      const answer = service.respondActivityTaskCompleted({ namespace, taskToken: token });
      await expect(answer).rejects.toMatchObject({ code: PERMISSION_DENIED });
    }
    await own.recordActivityTaskHeartbeat({ namespace, taskToken });
    await own.respondActivityTaskCompleted({ namespace, taskToken });
    expect(await run).toBeUndefined();
  });
});

test('a connection without a certificate of its CA is refused', async () => {
  await expect(through('control')).rejects.toMatchObject({ code: 'temporal_unavailable' });
  await expect(connectTemporal(address)).rejects.toMatchObject({ code: 'temporal_unavailable' });
});

test('mayfly doctor connects by the proxy, and reports it', async () => {
  const { config } = mayfly();
  const keys = { MAYFLY_PAYLOAD_KEY_FILE: payloadKeyPath(config) };
  const env = { ...temporalTls(folder, 'host-test'), ...keys, TEMPORAL_ADDRESS: address, MAYFLY_STATE_DIR: folder };
  const surroundings = await ProbeContext.of(readConfig({ ...env, MONGODB_URI: config.mongodbUri }));
  const checks = [
    ...(await temporalProbe(surroundings).look()),
    ...(await localUsersProbe(surroundings).look()).filter(({ name }) => name === 'Temporal by the proxy'),
  ];
  await surroundings.close();
  expect(checks.map(({ name, ok }) => ({ name, ok }))).toEqual([
    { name: 'search attributes', ok: true },
    { name: 'control worker', ok: true },
    { name: 'host worker', ok: true },
    { name: 'Temporal by the proxy', ok: true },
  ]);
});
