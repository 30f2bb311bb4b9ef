import { beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../api/description/openapi.ts';
import { deriveWaitpointId, ID_PATTERNS } from '../../../model/ids.ts';
import { formatToken } from '../../../model/waitpoints/token.ts';
import { useDoor } from '../../api/support.ts';
import {
  ALPHA,
  ALPHAS_CONTEXT,
  ALPHAS_POOL,
  ALPHAS_SOURCE,
  AT,
  SECRET_SOURCE,
  twoProjects,
  type World,
} from '../../api/two-projects.ts';
import { Described, type DescribedOperation } from '../../support/described.ts';
import { textOf } from '../../support/stream-text.ts';

/** Request for a resource of the first project, and the same for one that never existed. */
interface Pair {
  path: string;
  never: string;
  body?: unknown;
  neverBody?: unknown;
  /** Words of the requests themselves, which an answer may repeat. */
  said: string[];
}

/**
 * Requests of each operation for another project's resources. `own` cannot name them: its answers are searched.
 * `operator` is refused for any resource. An operation that is missing here fails the test.
 */
const ASKED: Record<string, 'own' | 'operator' | ((world: World) => Pair[])> = {
  ...every(
    'getSandbox updateSandbox deleteSandbox watchSandbox pauseSandbox hibernateSandbox resumeSandbox createSnapshot listSandboxSnapshots createPlaybook createCredential listCredentials deleteCredentials createCommand listCommands getSandboxUsage getSandboxAudit',
    ({ sandboxes, names }) => [...sandboxes, ...names].map((id) => one({ id }, { id: neverLike(id) })),
  ),
  ...every('getSnapshot deleteSnapshot', ({ snapshots }) => snapshots.map((id) => one({ id }, { id: neverLike(id) }))),
  ...every('getCommand getCommandOutput cancelCommand writeCommandStdin watchCommand', ({ commands, sandboxes, own }) =>
    commands.flatMap((commandId, n) => [
      one({ id: sandboxes[n] ?? '', commandId }, { id: NEVER.sandbox, commandId: NEVER.command }),
      one({ id: own.sandbox, commandId }, { id: own.sandbox, commandId: NEVER.command }),
    ]),
  ),
  deleteCredential: ({ serials, sandboxes, own }) =>
    serials.flatMap((credential, n) => [
      one({ id: sandboxes[n] ?? '', credential }, { id: NEVER.sandbox, credential: '6000000' }),
      one({ id: own.sandbox, credential }, { id: own.sandbox, credential: '6000000' }),
    ]),
  ...every('getFile putFile deleteFile', ({ sandboxes }) =>
    sandboxes.map((id) => one({ id, path: 'etc/hosts' }, { id: NEVER.sandbox, path: 'etc/hosts' })),
  ),
  ...every('getDesktop getDesktopScreenshot', ({ sandboxes }) =>
    sandboxes.map((id) => one({ id }, { id: NEVER.sandbox })),
  ),
  ...every('actOnDesktop', ({ sandboxes }) => withSandbox(sandboxes, { action: 'move', x: 1, y: 1 })),
  ...every('openOnDesktop', ({ sandboxes }) => withSandbox(sandboxes, { url: 'https://example.com/' })),
  ...every('createDesktopStream', ({ sandboxes }) => withSandbox(sandboxes, { mode: 'view' })),
  ...every('connectPort getPort deletePort deletePortTokens', ({ sandboxes }) =>
    sandboxes.map((id) => one({ id, port: '8080' }, { id: NEVER.sandbox, port: '8080' })),
  ),
  createPortToken: ({ sandboxes }) =>
    sandboxes.map((id) => ({
      ...one({ id, port: '8080' }, { id: NEVER.sandbox, port: '8080' }),
      body: { ttlSeconds: 60 },
      neverBody: { ttlSeconds: 60 },
    })),
  ...every('listPorts', ({ sandboxes }) => sandboxes.map((id) => one({ id }, { id: NEVER.sandbox }))),
  ...every('createPort', ({ sandboxes }) => withSandbox(sandboxes, { port: 8080 })),
  restoreSandbox: ({ sandboxes, snapshots, own }) => [
    ...sandboxes.map((id) => one({ id }, { id: NEVER.sandbox })),
    ...snapshots.map((snapshotId) => withBody({ id: own.sandbox }, { snapshotId }, { snapshotId: NEVER.snapshot })),
  ],
  diffSnapshots: ({ snapshots, own }) =>
    snapshots.flatMap((id) => [
      one({ a: id, b: own.snapshot }, { a: NEVER.snapshot, b: own.snapshot }),
      one({ a: own.snapshot, b: id }, { a: own.snapshot, b: NEVER.snapshot }),
      one({ a: id, b: 'current' }, { a: NEVER.snapshot, b: 'current' }),
    ]),
  createSandbox: ({ snapshots, captures }) => [
    ...snapshots.map((snapshotId) => withBody({}, { snapshotId }, { snapshotId: NEVER.snapshot })),
    ...snapshots.map((snapshotId) => withBody({}, { snapshotId, count: 3 }, { snapshotId: NEVER.snapshot, count: 3 })),
    ...captures.map((captureId) =>
      withBody({}, { source: 'open', captureId }, { source: 'open', captureId: NEVER.capture }),
    ),
    ...[ALPHAS_SOURCE, SECRET_SOURCE, 'golden'].map((source) => withBody({}, { source }, { source: 'never-was' })),
  ],
  createTemplate: () =>
    [ALPHAS_SOURCE, SECRET_SOURCE, 'golden'].map((source) => withBody({}, { source }, { source: 'never-was' })),
  createImage: () =>
    [ALPHAS_SOURCE, SECRET_SOURCE, 'golden'].map((source) => ({
      ...withBody({}, built(source), built('never-was')),
      said: [source, 'never-was'],
    })),
  ...every('getImage getImageAudit cancelImage', ({ images }) =>
    images.map((id) => one({ id }, { id: 'img-zzzzzzzzzzzzzzzz' })),
  ),
  putImageContext: () => [{ ...one({ digest: ALPHAS_CONTEXT }, { digest: '0'.repeat(64) }), body: {} }],
  getImageContext: () => [one({ digest: ALPHAS_CONTEXT }, { digest: '0'.repeat(64) })],
  ...every('getPlaybook getPlaybookArchive cancelPlaybook', ({ playbooks }) =>
    playbooks.map((id) => one({ id }, { id: 'pbk-zzzzzzzzzzzzzzzz' })),
  ),
  ...every('getFunction listFunctionVersions pauseFunction resumeFunction deleteFunction', ({ functions }) =>
    functions.map((name) => one({ name }, { name: 'never-was' })),
  ),
  activateFunctionVersion: ({ functions }) =>
    functions.map((name) => one({ name, version: '1' }, { name: 'never-was', version: '1' })),
  ...every('createRun createRuns invokeFunction', ({ functions }) =>
    functions.map((name) => ({ ...one({ name }, { name: 'never-was' }), body: {}, neverBody: {} })),
  ),
  putFunction: () =>
    [ALPHAS_SOURCE, SECRET_SOURCE, 'golden'].map((source) =>
      withBody({ name: 'x' }, { source, command: 'true' }, { source: 'never-was', command: 'true' }),
    ),
  ...every(
    'getRun watchRun getRunResult getRunDiff getRunOutput getRunAudit getRunReceipt getRunEvent listWaitpoints cancelRun redriveRun',
    ({ runs }) => runs.map((id) => one({ id }, { id: NEVER.run })),
  ),
  createBulk: ({ functions }) =>
    functions.map((name) => ({
      ...one({ name }, { name: 'never-was' }),
      body: { action: 'cancel' },
      neverBody: { action: 'cancel' },
    })),
  ...every('getBulk cancelBulk', ({ bulks, functions: [name = ''] }) =>
    bulks.map((bulk) => one({ name, bulk }, { name, bulk: NEVER.bulk })),
  ),
  completeWaitpoint: ({ runs }) =>
    runs.map((id) => {
      const token = (of: string) => formatToken(deriveWaitpointId(of, 'default'), 'x'.repeat(43));
      return { ...one({ token: token(id) }, { token: token(NEVER.run) }), body: { data: 1 }, neverBody: { data: 1 } };
    }),
  createWaitpoint: ({ runs }) => runs.map((id) => ({ ...one({ id }, { id: NEVER.run }), body: {}, neverBody: {} })),
  replayRun: ({ runs }) => runs.map((id) => ({ ...one({ id }, { id: NEVER.run }), body: {}, neverBody: {} })),
  getRunArtifact: ({ runs }) => runs.map((id) => one({ id, path: 'a' }, { id: NEVER.run, path: 'a' })),
  ...every('getHook deleteHook putHookSecrets disableHook enableHook', ({ hooks }) =>
    hooks.map((id) => one({ id }, { id: NEVER.hook })),
  ),
  putSecret: ({ secretNames }) =>
    secretNames.map((name) => ({
      ...one({ name }, { name: 'never-was' }),
      body: {},
      neverBody: {},
    })),
  ...every('getSecret deleteSecret', ({ secretNames }) =>
    secretNames.map((name) => one({ name }, { name: 'never-was' })),
  ),
  ...every('getWebhookEndpoint deleteWebhookEndpoint rotateWebhookEndpoint listWebhookDeliveries', ({ endpoints }) =>
    endpoints.map((id) => one({ id }, { id: NEVER.endpoint })),
  ),
  createWebhookEndpoint: () => [],
  updateWebhookEndpoint: ({ endpoints }) => {
    const wish = { disabled: true };
    return endpoints.map((id) => ({ ...one({ id }, { id: NEVER.endpoint }), body: wish, neverBody: wish }));
  },
  recoverWebhooks: ({ endpoints }) => {
    const wish = { since: '2020-01-01T00:00:00Z' };
    return endpoints.map((id) => ({ ...one({ id }, { id: NEVER.endpoint }), body: wish, neverBody: wish }));
  },
  redeliverWebhook: ({ endpoints, deliveries }) =>
    endpoints.map((id, n) =>
      one({ id, deliveryId: deliveries[n] ?? '' }, { id: NEVER.endpoint, deliveryId: 'dlv-zzzzzzzzzzzzzzzz' }),
    ),
  ...every(
    'getSchedule deleteSchedule listNextScheduleTimes listScheduleTimes pauseSchedule resumeSchedule triggerSchedule',
    ({ schedules }) => schedules.map((name) => one({ name }, { name: 'never-was' })),
  ),
  backfillSchedule: ({ schedules }) => {
    const body = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    return schedules.map((name) => ({ ...one({ name }, { name: 'never-was' }), body, neverBody: body }));
  },
  putSchedule: ({ functions }) => {
    const wish = (of: string) => ({ function: of, cron: '@daily' });
    return functions.map((of) => withBody({ name: 'betas' }, wish(of), wish('never-was')));
  },
  listHooks: ({ functions }) => functions.map((of) => one({ of }, { of: 'never-was' })),
  createHook: ({ functions }) => {
    const wish = (of: string) => ({ function: of, scheme: 'github', secrets: ['betas-secret'] });
    return functions.map((of) => withBody({}, wish(of), wish('never-was')));
  },
  createSource: ({ snapshots }) =>
    snapshots.map((fromSnapshot) =>
      withBody({}, { name: 'beta.x', fromSnapshot }, { name: 'beta.x', fromSnapshot: NEVER.snapshot }),
    ),
  ...every('getSource deleteSource createSourceCommand listCaptures', () =>
    [ALPHAS_SOURCE, SECRET_SOURCE, 'golden'].map((name) => one({ name }, { name: 'never-was' })),
  ),
  getSourceFile: () =>
    [ALPHAS_SOURCE, SECRET_SOURCE].map((name) =>
      one({ name, path: 'etc/hosts' }, { name: 'never-was', path: 'etc/hosts' }),
    ),
  ...every('getTemplate deleteTemplate', ({ templates }) => templates.map((id) => one({ id }, { id: neverLike(id) }))),
  ...every('getApproval getApprovalAudit withdrawApproval', ({ approvals }) =>
    approvals.map((id) => one({ id }, { id: NEVER.approval })),
  ),
  ...every('approveApproval refuseApproval', ({ approvals }) =>
    approvals.map((id) => ({ ...one({ id }, { id: NEVER.approval }), body: { digest: '0'.repeat(64) } })),
  ),
  getCapture: ({ captures }) => captures.map((id) => one({ id }, { id: NEVER.capture })),
  ...every('deleteKey updateKey', ({ keys }) => keys.map((id) => one({ id }, { id: '000000000000' }))),
  createKey: () => {
    const wish = (project: string) => ({ name: 'x', scopes: ['sandboxes:read'], project });
    return [withBody({}, wish(ALPHA), wish('never-was'))];
  },
  ...every('getProject getProjectUsage', () => [one({ id: ALPHA }, { id: 'never-was' })]),
  ...every('getPool deletePool', () => [one({ name: ALPHAS_POOL }, { name: 'never-was' })]),
  putPool: () => {
    const wish = (source: string) => ({ source, min: 0, max: 1 });
    return [ALPHAS_SOURCE, SECRET_SOURCE].map((source) => withBody({ name: 'x' }, wish(source), wish('never-was')));
  },
  ...every(
    'listSandboxes listSnapshots listTemplates listImages listPlaybooks listFunctions listSecrets listRuns getUsage listSources listKeys listPools listApprovals watchApprovals getPolicy putPolicy listReceiptKeys listWebhookEndpoints listSchedules',
    'own',
  ),
  ...every(
    'getAudit updateHost deleteHost listHosts startSource stopSource prepareSource unprepareSource getSourceAudit createCapture deleteCapture listProjects createProject updateProject deleteProject',
    'operator',
  ),
};

const NEVER = {
  sandbox: 'sbx-zzzzzzzzzzzzzzzz',
  command: 'cmd-zzzzzzzzzzzzzzzz',
  snapshot: 'snp-zzzzzzzzzzzzzzzz',
  capture: 'cap-zzzzzzzzzzzzzzzz',
  approval: 'apr-zzzzzzzzzzzzzzzz',
  run: 'run-zzzzzzzzzzzzzzzz',
  bulk: 'blk-zzzzzzzzzzzzzzzz',
  hook: 'hok-zzzzzzzzzzzzzzzz',
  endpoint: 'whe-zzzzzzzzzzzzzzzz',
};

function built(source: string) {
  return { name: 'beta.x', dockerfile: 'FROM it', aliases: { it: source } };
}

function every<T>(names: string, how: T): Record<string, T> {
  return Object.fromEntries(names.split(' ').map((name) => [name, how]));
}

function neverLike(id: string): string {
  if (new RegExp(ID_PATTERNS.sandbox).test(id)) return NEVER.sandbox;
  return new RegExp(ID_PATTERNS.snapshot).test(id) ? NEVER.snapshot : 'never-was';
}

type Parameters = Record<string, string>;
const query = (parameters: Parameters) => JSON.stringify(parameters);

function one(parameters: Parameters, never: Parameters): Pair {
  return {
    path: query(parameters),
    never: query(never),
    said: [...Object.values(parameters), ...Object.values(never)],
  };
}

function withSandbox(sandboxes: string[], body: object): Pair[] {
  return sandboxes.map((id) => ({ ...one({ id }, { id: NEVER.sandbox }), body, neverBody: body }));
}

function withBody(parameters: Parameters, body: object, neverBody: object): Pair {
  const said = [body, neverBody].flatMap((each) => Object.values(each).filter((value) => typeof value === 'string'));
  return { ...one(parameters, parameters), body, neverBody, said };
}

const door = useDoor();
let world: World;
let operations: DescribedOperation[];

beforeAll(async () => {
  world = await twoProjects(door);
  operations = new Described(openApiDocument(door.app, '0')).operations;
});

interface Asked {
  status: number;
  code: string | null;
  /** Response without the words of the request. */
  text: string;
}

async function ask(
  { method, path, requestBody }: DescribedOperation,
  parameters: string,
  { body, said }: Pick<Pair, 'body' | 'said'>,
  key: string,
): Promise<Asked> {
  const given = JSON.parse(parameters) as Parameters;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => given[name] ?? '');
  const url = `${filled}${queryOf(method, path, given)}`;
  const json = requestBody?.content['application/json'];
  const bytes = requestBody && !json ? 'x' : undefined;
  const type = json ? {} : { 'Content-Type': 'application/octet-stream' };
  const response = await door.call(method.toUpperCase(), url, body ?? json?.example ?? (json ? {} : bytes), type, key);
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
  const told = `${JSON.stringify(headers)}\n${await textOf(response)}`.replaceAll(/"requestId":"[^"]+"/g, '');
  return { status: response.status, code: response.headers.get('X-Mayfly-Code'), text: without(said, told) };
}

/** Returns the query that an operation requires. */
function queryOf(method: string, path: string, { of = '' }: Parameters): string {
  if (path === '/v1/sandboxes/{id}/commands/{commandId}/output') return '?stream=stdout';
  return method.toLowerCase() === 'get' && path === '/v1/hooks' ? `?function=${of}` : '';
}

/** Cache of the answers for resources that never existed, by request. */
const nevers = new Map<string, Promise<Asked>>();

/** Operations whose resource belongs to the caller, under any name. */
const OF_ONES_OWN = new Set(['putImageContext', 'putSecret']);

/** Compares the answers; null when the resource appears never to have existed. */
async function differenceOf(
  operation: DescribedOperation,
  pair: Pair,
  role: (typeof ROLES)[number],
): Promise<string | null> {
  const key = world.beta[role];
  const body = pair.neverBody ?? pair.body;
  const question = JSON.stringify([operation.operationId, pair.never, body, role]);
  const never = nevers.get(question) ?? ask(operation, pair.never, { body, said: [] }, key);
  nevers.set(question, never);
  const [its, others] = await Promise.all([ask(operation, pair.path, pair, key), never]);
  const isRefused =
    its.status === 404 ||
    its.text.includes('"items":[]') ||
    (its.status === 422 && OF_ONES_OWN.has(operation.operationId)) ||
    (its.status === 403 && (role !== 'admin' || operation.operationId === 'createKey'));
  const isSame = JSON.stringify(its) === JSON.stringify({ ...others, text: without(pair.said, others.text) });
  const isSilent = !world.secrets.some((secret) => its.text.includes(secret));
  if (isRefused && isSame && isSilent) return null;
  return `${role} ${operation.operationId} ${pair.path} ${JSON.stringify(pair.body)}: ${JSON.stringify([its, await never])}`;
}

function without(said: string[], text: string): string {
  return [...said].sort((a, b) => b.length - a.length).reduce((rest, word) => rest.replaceAll(word, '…'), text);
}

const ROLES = ['sandboxes:read', 'sandboxes:write', 'sources:look', 'admin'] as const;

// Promise: docs/security.md, "Projects": no route shows or changes anything of another project. Costs 20 s.
describe('a second project', () => {
  it('every operation of the description has a row here, and every row an operation', () => {
    const named = operations.map(({ operationId }) => operationId);
    expect(Object.keys(ASKED).sort()).toEqual(named.sort());
    const { secrets: _all, names: _names, beta: _keys, own: _own, ...things } = world;
    expect(Object.values(things).flat().length).toBeGreaterThanOrEqual(200);
  });

  it("gets the same answer for the first project's resources as for missing ones, with any key", async () => {
    const differences: string[] = [];
    for (const operation of operations) {
      const how = ASKED[operation.operationId];
      if (typeof how !== 'function') continue;
      const pairs = how(world);
      await Promise.all(
        ROLES.map(async (role) => {
          for (const pair of role === 'admin' ? pairs : pairs.slice(0, 2)) {
            const difference = await differenceOf(operation, pair, role);
            if (difference) differences.push(difference);
          }
        }),
      );
    }
    expect(differences).toEqual([]);
  });

  it('sees nothing of it in lists, and is refused resources of the installation', async () => {
    for (const operation of operations) {
      const how = ASKED[operation.operationId];
      if (typeof how === 'function') continue;
      for (const role of ROLES) {
        const parameters = query({
          id: how === 'own' ? '' : operation.path.includes('hosts') ? 'kvm-1' : ALPHA,
          name: SECRET_SOURCE,
        });
        const given = operation.operationId === 'deleteCapture' ? query({ id: world.captures[0] ?? '' }) : parameters;
        const asked = await ask(
          operation,
          given,
          { said: [SECRET_SOURCE, ALPHA, world.captures[0] ?? ''] },
          world.beta[role],
        );
        expect(how === 'own' ? [200, 403] : [403], `${role} ${operation.operationId} ${asked.text}`).toContain(
          asked.status,
        );
        for (const secret of world.secrets)
          expect(asked.text, `${role} ${operation.operationId}`).not.toContain(secret);
      }
    }
    const metrics = await door.call('GET', '/metrics', undefined, {}, world.beta.admin);
    expect(metrics.status).toBe(403);
  });

  it('left all of it unchanged', async () => {
    for (const id of world.sandboxes) expect((await door.store.sandboxes.get(id))?.state).toMatch(/running|destroyed/);
    for (const id of world.snapshots) expect((await door.store.snapshots.get(id))?.state).toBe('ready');
    for (const id of world.approvals) expect((await door.store.approvals.get(id))?.state).toBe('awaiting-approval');
    for (const id of world.runs) expect((await door.store.runs.get(id))?.state).toBe('queued');
    for (const id of world.hooks) expect((await door.store.hooks.get(id))?.disabledAt).toBeNull();
    for (const name of world.secretNames)
      expect((await door.store.secrets.get({ project: ALPHA, name }))?.valueId).toBe('v');
    for (const id of world.endpoints) expect((await door.store.webhookEndpoints.get(id))?.updatedAt).toBe(AT);
    for (const name of world.functions)
      expect((await door.store.functions.get({ project: ALPHA, name }))?.state).toBe('active');
    for (const id of world.keys) expect((await door.store.apiKeys.get(id))?.revokedAt).toBeNull();
    expect([door.sagas.operations, door.sagas.cancelled, door.sagas.startedCommands]).toEqual([[], [], []]);
  });
});
