import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Exchange, openApiDocument, recordedExchanges } from '../../../api/description/openapi.ts';
import type { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { buildTar } from '../../../model/image/tar.ts';
import { END_FRAME } from '../../../model/ports/pieces.ts';
import { newDelivery } from '../../../model/webhooks/delivery.ts';
import { ReceiptSigner } from '../../../worker/receipts/receipt-watch.ts';
import { templateRecord } from '../../store/project-records.ts';
import { endedEvent } from '../../store/webhook-records.ts';
import { Described } from '../../support/described.ts';
import { TestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { listen } from '../../support/listen.ts';
import { textOf } from '../../support/stream-text.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const WAIT = { Prefer: 'wait=60' };
const NOW = { Prefer: 'wait=0' };
const SOURCE = 'web-server';
const STREAM = 'text/event-stream';

interface Asked {
  operationId: string;
  request: unknown;
  status: number;
  type: string;
  answer: unknown;
}

let door: TestDoor;
let described: Described;
const asked: Asked[] = [];

interface Request {
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Expected status of a problem. */
  refused?: number;
}

type Parameters = Record<string, string>;

/** Calls an operation by its description. */
async function ask<T = { id: string }>(
  operationId: string,
  parameters: Parameters = {},
  { query = '', body, headers = WAIT, refused }: Request = {},
): Promise<T> {
  const { method, path } = described.operation(operationId);
  const url = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => parameters[name] ?? `no-${name}`);
  const response = await door.call(method.toUpperCase(), url + query, body, headers);
  const type = (response.headers.get('Content-Type') ?? '').split(';')[0] ?? '';
  const text = await textOf(response);
  const answer = read(type, text);
  expect(refused ? response.status === refused : response.ok, `${operationId}: ${text}`).toBe(true);
  asked.push({ operationId, request: body, status: response.status, type, answer });
  return answer as T;
}

/** Parses JSON; of NDJSON each line is described, so the first represents all. */
function read(type: string, text: string): unknown {
  if (type === 'application/x-ndjson') return JSON.parse(text.split('\n')[0] ?? '');
  return type.endsWith('json') ? JSON.parse(text) : text;
}

const hypervisor = () => mayfly().host?.machine.hypervisor as SimulatedHypervisor;

async function runningSource(): Promise<void> {
  await hypervisor().runningSources.make(SOURCE);
  const folder = join(mayfly().config.stateDir, 'images', SOURCE, 'root/srv');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'notes.txt'), 'backup at 02:00\n');
  await hypervisor().runningSources.start(SOURCE);
}

async function commandsAndFiles(id: string): Promise<void> {
  const hello = await ask('createCommand', { id }, { body: { command: 'echo "hello from $PWD"', cwd: '/tmp' } });
  const commandId = hello.id;
  await ask('listCommands', { id }, { query: '?limit=1' });
  await ask('getCommand', { id, commandId });
  await ask('getCommandOutput', { id, commandId }, { query: '?stream=stdout' });
  await ask('watchCommand', { id, commandId });
  const cat = await ask('createCommand', { id }, { body: { argv: ['cat'], stdinOpen: true }, headers: NOW });
  await door.until({ id: cat.id, sandboxId: id }, ({ state }) => state === 'running');
  const input = Buffer.from('more\n');
  const bytes = { 'Content-Type': 'application/octet-stream' };
  await ask('writeCommandStdin', { id, commandId: cat.id }, { query: '?offset=0', body: input, headers: bytes });
  await ask('cancelCommand', { id, commandId: cat.id });
  await ask('watchCommand', { id, commandId: cat.id });
  await ask('cancelCommand', { id, commandId: cat.id });

  const path = 'tmp/notes/today.txt';
  for (const text of ['first\n', 'second\n']) {
    await ask('putFile', { id, path }, { query: '?parents=true', body: Buffer.from(text), headers: bytes });
  }
  await ask('getFile', { id, path });
  await ask('getFile', { id, path }, { headers: { Range: 'bytes=0-2' } });
  await ask('getFile', { id, path: 'tmp/notes' });
}

async function ports(id: string): Promise<void> {
  const server = createServer((socket) => socket.end('hello'));
  const port = String(await listen(server));
  const headers = { 'Content-Type': 'application/octet-stream' };
  await ask('connectPort', { id, port }, { body: Buffer.from(END_FRAME), headers });
  for (const _again of [1, 2]) await ask('createPort', { id }, { body: { port: Number(port) } });
  await ask('listPorts', { id });
  await ask('getPort', { id, port });
  await ask('createPortToken', { id, port }, { body: { ttlSeconds: 600 } });
  await ask('deletePortTokens', { id, port });
  await ask('deletePort', { id, port });
  server.close();
}

/** Calls the desktop operations: a simulated guest has no screen; test/desktop uses one that has. */
async function desktop(id: string): Promise<void> {
  const refused = { refused: 409 };
  await ask('getDesktop', { id }, refused);
  await ask('getDesktopScreenshot', { id }, refused);
  await ask('actOnDesktop', { id }, { body: { action: 'click', x: 300, y: 200 }, ...refused });
  await ask('createDesktopStream', { id }, { body: { mode: 'view' }, ...refused });
  await ask('openOnDesktop', { id }, { body: { argv: ['true'] } });
}

async function credentials(id: string): Promise<void> {
  const { publicKey } = makeKeyPair('me');
  const { serial } = await ask<{ serial: string }>(
    'createCredential',
    { id },
    { body: { publicKey, ttlSeconds: 600 } },
  );
  await ask('listCredentials', { id });
  await ask('deleteCredential', { id, credential: serial });
  await ask('deleteCredentials', { id });
}

async function snapshots(id: string): Promise<void> {
  const { id: snapshotId } = await ask('createSnapshot', { id }, { body: { name: 'installed' } });
  await ask('listSandboxSnapshots', { id });
  await ask('listSnapshots');
  await ask('getSnapshot', { id: snapshotId });
  await ask('deleteFile', { id, path: 'tmp/notes/today.txt' });
  await ask('diffSnapshots', { a: snapshotId, b: 'current' });
  await ask('diffSnapshots', { a: snapshotId, b: 'current' }, { query: '?format=ndjson' });
  await ask('restoreSandbox', { id }, { body: { snapshotId } });
  const forks = { body: { snapshotId, count: 2, ttlSeconds: 900 } };
  const { items } = await ask<{ items: { sandbox: { id: string } }[] }>('createSandbox', {}, forks);
  for (const { sandbox } of items) await ask('deleteSandbox', { id: sandbox.id });
  await ask('createSource', {}, { body: { name: 'with-tools', fromSnapshot: snapshotId } });
  await ask('listSources');
  await ask('deleteSource', { name: 'with-tools' });
  const { items: all } = await ask<{ items: { id: string }[] }>('listSandboxSnapshots', { id });
  for (const { id: one } of all) await ask('deleteSnapshot', { id: one });
}

async function sources(): Promise<void> {
  const name = SOURCE;
  await ask('prepareSource', { name }, { body: {} });
  await ask('getSource', { name });
  await ask('createSourceCommand', { name }, { body: { command: 'cat /srv/notes.txt | wc -l' } });
  await ask('getSourceFile', { name, path: 'srv/notes.txt' });
  await ask('getSourceFile', { name, path: 'srv' });
  const { id } = await ask('createCapture', { name }, { body: { allowedEgress: 'internet' } });
  await ask('listCaptures', { name });
  await ask('getCapture', { id });
  await ask('deleteCapture', { id });
  await ask('unprepareSource', { name }, { body: {} });
  await ask('stopSource', { name }, { body: {} });
  await ask('startSource', { name }, { body: {} });
  await ask('getSourceAudit', { name }, { query: '?limit=2' });
}

async function templates(): Promise<void> {
  const { store, host } = mayfly();
  const { observer } = host?.machine ?? {};
  if (!observer) throw new Error('there is no host');
  const { hostId, installationId } = observer;
  const source = 'golden-debian12';
  await ask('createTemplate', {}, { body: { source, memoryMib: 128 }, refused: 422 }); // a process tree has no memory
  const id = 'snp-0123456789abcdef';
  const at = '2026-01-01T00:00:00.000Z';
  const ready = { state: 'ready', savedAt: at, readyAt: at, wakes: 3, lastUsedAt: at, sizeBytes: 90_177_536 } as const;
  const of = { id, key: '0'.repeat(64), hostId, installationId, source, memoryMib: 128 };
  await store.templates.put(templateRecord({ ...of, ...ready }));
  await ask('listTemplates');
  await ask('getTemplate', { id });
  await ask('deleteTemplate', { id });
}

async function images(): Promise<void> {
  const dockerfile =
    'FROM debian:12\nARG PORT=80\nENV PORT=$PORT\nRUN echo "$PORT" >/srv/port\nEXPOSE $PORT\nCMD ["serve"]\n';
  const context = Buffer.from(buildTar([])).toString('base64');
  const body = {
    name: 'web-image',
    dockerfile,
    context,
    args: { PORT: '8080' },
    aliases: { 'debian:12': 'golden-debian12' },
  };
  const sent = Buffer.from(buildTar([]));
  const digest = createHash('sha256').update(sent).digest('hex');
  const type = { 'Content-Type': 'application/x-tar' };
  for (const _of of ['sent', 'there']) await ask('putImageContext', { digest }, { body: sent, headers: type });
  await ask('getImageContext', { digest });
  const { id } = await ask('createImage', {}, { body });
  await eventually(() => mayfly().store.images.get(id), { state: 'ready' });
  await ask('getImage', { id });
  await ask('getImageAudit', { id });
  await ask('listImages');
  await ask('cancelImage', { id });
}

async function playbooks(sandboxId: string): Promise<void> {
  const { id } = await ask('createPlaybook', { id: sandboxId }, { body: {} });
  await eventually(
    () => mayfly().store.playbooks.get(id),
    (playbook) => playbook?.endedAt !== null,
  );
  await ask('getPlaybook', { id });
  await ask('getPlaybookArchive', { id });
  await ask('listPlaybooks');
  await ask('cancelPlaybook', { id });
}

async function hosts(): Promise<void> {
  const { store } = mayfly();
  await ask('updateHost', { id: 'test' }, { body: { drained: true } });
  await ask('updateHost', { id: 'test' }, { body: { drained: false } });
  const known = await store.hosts.get('test');
  if (!known) throw new Error('the host has not described itself');
  const { silentMs: _silent, ...host } = known;
  await store.hosts.describe({ ...host, id: 'kvm-2', lastSeenAt: '2026-01-01T00:00:00.000Z' });
  await ask('deleteHost', { id: 'kvm-2' });
}

async function keys(): Promise<void> {
  const key = { name: 'agent-runner', scopes: ['sandboxes:read', 'sandboxes:write'] };
  const { id } = await ask('createKey', {}, { body: key });
  await ask('updateKey', { id }, { body: { diskBytes: 10_737_418_240, sandboxDiskBytes: null } });
  await ask('listKeys');
  await ask('deleteKey', { id });
}

async function projects(): Promise<void> {
  const id = 'team-a';
  await ask('createProject', {}, { body: { id, sources: ['golden-debian12'], limits: { sandboxes: 20 } } });
  await ask('updateProject', { id }, { body: { sources: ['golden-debian12', SOURCE], limits: { cpus: 40 } } });
  await ask('getProject', { id });
  await ask('getProjectUsage', { id });
  await ask('deleteProject', { id });
  await ask('listProjects');
}

/** Calls the approval operations, with an agent's key for requests and another for decisions. */
async function approvals(sandboxId: string): Promise<void> {
  const rules = [
    { name: 'no-netcat', when: { command: 'nc' }, effect: 'deny' },
    { name: 'root-is-asked-for', when: { elevation: true }, effect: 'ask' },
  ];
  await ask('putPolicy', {}, { body: { rules } });
  await ask('getPolicy');
  const { secret } = await mayfly().store.apiKeys.create({
    project: 'default',
    name: 'agent',
    scopes: ['sandboxes:write'],
  });
  const asAgent = { Authorization: `Bearer ${secret}`, ...NOW };
  const wish = { body: { command: 'apt-get install -y jq', user: 'root' } };
  const waits = (key: string) =>
    ask<{ id: string; digest: string }>(
      'createCommand',
      { id: sandboxId },
      { ...wish, headers: { ...asAgent, 'Idempotency-Key': key } },
    );
  const [one, two, three] = [await waits('one'), await waits('two'), await waits('three')];
  await ask('getApproval', { id: one.id }, { headers: NOW });
  await ask('watchApprovals');
  await ask('approveApproval', { id: one.id }, { body: { digest: one.digest, reason: 'a tool that it needs' } });
  await ask('refuseApproval', { id: two.id }, { body: { digest: two.digest, reason: 'once is enough' } });
  await ask('withdrawApproval', { id: three.id }, { headers: asAgent });
  await ask('listApprovals', {}, { query: '?limit=1' });
  await ask('getApprovalAudit', { id: one.id }, { query: '?limit=2' });
  await ask('putPolicy', {}, { body: { rules: [] } });
}

async function deadLetter(): Promise<void> {
  const name = 'fails';
  await ask('putFunction', { name }, { body: { source: 'golden-debian12', command: 'exit 1' } });
  const { id } = await ask('createRun', { name }, { body: {} });
  await ask('redriveRun', { id });
  await ask('createRun', { name }, { body: {} });
  const bulk = await ask('createBulk', { name }, { body: { action: 'redrive', filter: { outcome: 'failed' } } });
  await ask('getBulk', { name, bulk: bulk.id });
  await ask('cancelBulk', { name, bulk: bulk.id });
  await ask('deleteFunction', { name }, { query: '?drain=true' });
}

/** Calls the function operations. Events for hooks are tested in test/api/hooks. */
async function functions(): Promise<void> {
  const name = 'summarise';
  const command = 'echo seen; echo \'{"words":2}\' > $MAYFLY_RESULT; echo one > $MAYFLY_ARTIFACTS/log.txt';
  const wish = { source: 'golden-debian12', command, timeoutSeconds: 60, diff: true };
  for (const _again of [1, 2]) await ask('putFunction', { name }, { body: wish });
  await ask('listFunctions');
  await ask('getFunction', { name });
  await ask('listFunctionVersions', { name });
  await ask('activateFunctionVersion', { name, version: '1' });
  await ask('invokeFunction', { name }, { body: { text: 'hello world' } });
  const { id } = await ask('createRun', { name }, { body: { text: 'hello again' } });
  await ask('listRuns', {}, { query: '?limit=1' });
  await ask('getRun', { id });
  await ask('getRunResult', { id });
  await ask('getRunArtifact', { id, path: 'log.txt' });
  await ask('getRunOutput', { id }, { query: '?stream=stdout' });
  await ask('getRunAudit', { id }, { query: '?limit=2' });
  await ask('getRunEvent', { id });
  const watch = new ReceiptSigner(
    mayfly().store,
    join(mayfly().config.stateDir, 'receipt.key'),
    pino({ level: 'silent' }),
  );
  await eventually(() => mayfly().store.runs.get(id), { cleanup: 'proved' });
  await watch.look();
  await ask('getRunDiff', { id });
  await ask('getRunReceipt', { id });
  await ask('listReceiptKeys');
  await ask('watchRun', { id });
  await ask('replayRun', { id }, { body: { version: 'current', event: { data: { text: 'hello, edited' } } } });
  await deadLetter();
  await ask('pauseFunction', { name });
  await ask('resumeFunction', { name });
  await ask('pauseFunction', { name });
  const event = { specversion: '1.0', id: '1', source: '/tests', type: 'test.made', data: { text: 'later' } };
  const type = { 'Content-Type': 'application/cloudevents-batch+json' };
  const batch = await ask<{ items: { runId: string }[] }>('createRuns', { name }, { body: [event], headers: type });
  const later = await ask('createRun', { name }, { body: { text: 'much later' }, headers: {} });
  await waitpoint(later.id);
  await ask('invokeFunction', { name }, { body: {}, headers: NOW });
  await ask('deleteFunction', { name }, { refused: 409 });
  await ask('deleteFunction', { name }, { query: '?drain=true' });
  for (const run of [later.id, batch.items[0]?.runId ?? '']) await ask('cancelRun', { id: run });
}

async function waitpoint(id: string): Promise<void> {
  const { token } = await ask<{ token: string }>('createWaitpoint', { id }, { body: { name: 'approval' } });
  await ask('completeWaitpoint', { token }, { body: { data: { approved: true } } });
  await ask('listWaitpoints', { id });
}

async function hooks(): Promise<void> {
  const name = 'on-push';
  await ask('putFunction', { name }, { body: { source: 'golden-debian12', command: 'cat $MAYFLY_EVENT' } });
  const conditions = [{ pointer: '/ref', in: ['refs/heads/main'] }];
  const filter = { types: ['com.github.push'], conditions };
  const wish = { function: name, scheme: 'github', secrets: ['correct horse'], filter };
  const { id } = await ask('createHook', {}, { body: wish });
  await ask('listHooks', {}, { query: `?function=${name}` });
  await ask('getHook', { id });
  await ask('putHookSecrets', { id }, { body: { secrets: ['battery staple', 'correct horse'] } });
  await ask('disableHook', { id });
  await ask('enableHook', { id });
  await ask('deleteHook', { id });
  await ask('deleteFunction', { name });
}

async function secrets(): Promise<void> {
  const name = 'database-password';
  for (const value of ['correct horse battery', 'staple of 2026'])
    await ask('putSecret', { name }, { body: { value } });
  await ask('listSecrets');
  await ask('getSecret', { name });
  await ask('deleteSecret', { name });
}

async function webhooks(): Promise<void> {
  const wish = { url: 'https://example.com/mayfly', types: ['run.ended', 'run.dead-lettered'] };
  const { id } = await ask('createWebhookEndpoint', {}, { body: wish });
  await ask('listWebhookEndpoints');
  await ask('getWebhookEndpoint', { id });
  await ask('updateWebhookEndpoint', { id }, { body: { types: ['run.ended'] } });
  await ask('rotateWebhookEndpoint', { id });
  const endpoint = await mayfly().store.webhookEndpoints.get(id);
  if (!endpoint) throw new Error('there is one');
  const delivery = newDelivery(endedEvent(), endpoint, new Date().toISOString());
  await mayfly().store.webhookDeliveries.create(delivery, delivery.createdAt);
  await ask('listWebhookDeliveries', { id }, { query: '?limit=1' });
  await ask('redeliverWebhook', { id, deliveryId: delivery.id });
  await ask('recoverWebhooks', { id }, { body: { since: '2026-03-01T00:00:00Z' } });
  await ask('deleteWebhookEndpoint', { id });
}

/** Calls the schedule operations, with a made-up missed time, which the control worker would write. */
async function schedules(): Promise<void> {
  const [name, of] = ['nightly', 'report'];
  await ask('putFunction', { name: of }, { body: { source: 'golden-debian12', command: 'true' } });
  const dst = { gap: 'run-after', repeat: 'first' };
  const body = { function: of, cron: '30 2 * * *', timeZone: 'Europe/Berlin', dst };
  for (const _again of [1, 2]) await ask('putSchedule', { name }, { body });
  await mayfly().store.scheduleTimes.put(
    {
      project: 'default',
      schedule: name,
      at: '2026-03-29T01:00:00.000Z',
      localTime: '2026-03-29T02:30',
      triggerId: null,
      state: 'missed',
      reason: 'overlap',
      detail: null,
      runId: null,
      recordedAt: '2026-03-29T01:00:05.000Z',
    },
    '2999-01-01T00:00:00.000Z',
  );
  await ask('listSchedules', {}, { query: `?function=${of}` });
  await ask('getSchedule', { name });
  await ask('listNextScheduleTimes', { name }, { query: '?count=2' });
  await ask('listScheduleTimes', { name }, { query: '?state=missed' });
  await ask('pauseSchedule', { name });
  await ask('resumeSchedule', { name });
  await ask('triggerSchedule', { name }, { body: {} });
  const past = { from: '2026-03-28T00:00:00Z', to: '2026-03-30T00:00:00Z', overlap: 'buffer-all' };
  await ask('backfillSchedule', { name }, { body: past });
  await ask('deleteSchedule', { name });
  await ask('deleteFunction', { name: of });
}

async function pools(): Promise<void> {
  const name = 'web';
  await ask('putPool', { name }, { body: { source: 'golden-debian12', min: 1, max: 2, memoryMib: 64 } });
  await eventually(() => mayfly().store.pools.get({ project: 'default', name }), { state: 'ready' });
  await ask('getPool', { name });
  await ask('listPools');
  await ask('deletePool', { name });
}

beforeAll(async () => {
  await runningSource();
  door = await TestDoor.open(mayfly());
  described = new Described(openApiDocument(door.app, '0'));
  await ask('listHosts');
  await hosts();
  await keys();
  await projects();
  await pools();
  await functions();
  await hooks();
  await secrets();
  await webhooks();
  await schedules();
  const wish = {
    name: 'web',
    source: 'golden-debian12',
    ttlSeconds: 900,
    metadata: { task: 'build' },
    agentId: 'agent-7',
  };
  const { id } = await ask('createSandbox', {}, { body: wish });
  await ask('listSandboxes', {}, { query: '?limit=1' });
  await ask('getSandbox', { id });
  await ask('updateSandbox', { id }, { body: { ttlSeconds: 1_800, metadata: { task: 'test' } } });
  await commandsAndFiles(id);
  await ports(id);
  await desktop(id);
  await credentials(id);
  await approvals(id);
  await ask('pauseSandbox', { id });
  await ask('resumeSandbox', { id });
  await ask('hibernateSandbox', { id }, { refused: 422 }); // a process tree has no memory that could be saved
  await ask('getSandboxUsage', { id });
  await ask('getUsage');
  await snapshots(id);
  await playbooks(id);
  await sources();
  await templates();
  await images();
  await ask('deleteSandbox', { id });
  await ask('watchSandbox', { id });
  await ask('getSandboxAudit', { id }, { query: '?limit=2' });
  await ask('getAudit', {}, { query: `?sandboxId=${id}&limit=2` });
  const short = await ask('createSandbox', {}, { body: { source: 'golden-debian12' }, headers: NOW });
  await ask('deleteSandbox', { id: short.id });
});

afterAll(async () => {
  door?.close();
  await hypervisor().runningSources.stop(SOURCE);
});

const isStream = ({ type }: Asked) => type === STREAM;

/** Parses events as a client does (HTML, Server-sent events). */
function eventsIn(text: string): Record<string, unknown>[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  return blocks.map((block) => {
    const fields = block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]);
    return Object.fromEntries(fields);
  });
}

// Promise: the OpenAPI document is true of every operation. One life on a simulated host; half a minute.
// New examples: `MAYFLY_RECORD_EXAMPLES=1 node scripts/test.mjs --tier all test/extended/api/real-answers.integration.test.ts`.
test('every operation was called, and answered as described, with no undescribed field', () => {
  const ids = described.operations.map(({ operationId }) => operationId);
  expect(ids.filter((id) => !asked.some(({ operationId }) => operationId === id))).toEqual([]);
  const faults = asked
    .filter((one) => one.status !== 204 && !isStream(one))
    .flatMap(({ operationId, status, type, answer }) =>
      described.faults(described.answer(operationId, status, type), answer).map((fault) => `${operationId}: ${fault}`),
    );
  expect(faults).toEqual([]);
});

test('every request is valid by the document', () => {
  const faults = asked.flatMap(({ operationId, request }) => {
    const { schema } = described.operation(operationId).requestBody?.content['application/json'] ?? {};
    return schema ? described.faults(schema, request) : [];
  });
  expect(faults).toEqual([]);
});

test('every event matches the schema of its stream', () => {
  const seen = new Set<unknown>();
  for (const { operationId, answer } of asked.filter(isStream)) {
    for (const event of eventsIn(answer as string)) {
      seen.add(event['event']);
      expect(described.eventFaults(operationId, event), JSON.stringify(event)).toEqual([]);
    }
  }
  expect(seen).toEqual(new Set(['approval', 'audit', 'ended', 'output', 'run', 'sandbox']));
  const strange = JSON.stringify({ stream: 'stdin', at: 'now', offset: 0, text: '' });
  expect(described.eventFaults('watchCommand', { event: 'output', id: '0-0', data: strange })).not.toEqual([]);
});

test('the examples of the document are of these operations and their statuses', async () => {
  const exchanges = examplesOf(asked);
  if (process.env['MAYFLY_RECORD_EXAMPLES']) {
    const file = new URL('../../../api/description/examples.json', import.meta.url);
    await writeFile(file, `${JSON.stringify(exchanges, null, 2)}\n`);
  }
  const shape = (all: Record<string, Exchange>) =>
    Object.entries(all).map(([id, { answers }]) => [id, Object.keys(answers).sort()]);
  expect(shape(recordedExchanges())).toEqual(shape(exchanges));
});

/**
 * Returns the first answer of each status and media type, with short lists, and without secrets and values of this run.
 */
function examplesOf(all: readonly Asked[]): Record<string, Exchange> {
  const exchanges: Record<string, Exchange> = {};
  for (const { operationId, request, status, type, answer } of all) {
    exchanges[operationId] ??= { request: undefined, answers: {} };
    const exchange = exchanges[operationId];
    if (exchange.request === undefined && request !== undefined && !Buffer.isBuffer(request))
      exchange.request = request;
    exchange.answers[status] ??= {};
    if (type !== '') exchange.answers[status][type] ??= shown(exampleOf(type, answer));
  }
  return exchanges;
}

/** Returns the first event of a stream; the bytes of an archive are replaced. */
function exampleOf(type: string, answer: unknown): unknown {
  if (type === 'application/x-tar') return '(the bytes of a tar archive)';
  return type === STREAM ? eventsIn(String(answer))[0] : answer;
}

function shown(answer: unknown): unknown {
  if (typeof answer === 'string') return placed(answer);
  const { items, secret } = answer as { items?: unknown[]; secret?: string };
  const short = {
    ...(answer as object),
    ...(items && { items: items.slice(0, 1) }),
    ...(secret !== undefined && { secret: `mfk_${'0'.repeat(12)}_${'x'.repeat(43)}` }),
  };
  return JSON.parse(placed(JSON.stringify(short)));
}

/** Replaces paths of this run by those of an installation, and tokens by examples. */
function placed(text: string): string {
  const kept = text
    .replaceAll(/mfp_[\w-]+\.[\w-]+/g, `mfp_eyJpIjoi.${'x'.repeat(43)}`)
    .replaceAll(/(mfw_[0-9a-z]{16})_[\w-]{43}/g, `$1_${'x'.repeat(43)}`);
  return kept.replaceAll(mayfly().config.stateDir, '/var/lib/mayfly');
}
