import { expect, it } from 'vitest';
import { usageLine } from '../../cli/sandbox/sandbox-text.ts';
import type { Capture, Template } from '../../clients/typescript/http/openapi.ts';
import { NO_LIMITS } from '../../model/project-limits.ts';
import { answerOf } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

const GIB = 1_073_741_824;
const server = useStandIn();

const template = answerOf<Template>('getTemplate', { source: 'web 1', cpus: 2, memoryMib: 512, wakes: 7 });
const AT = template.updatedAt;
const failedTemplate = { ...template, state: 'failed', reason: 'settleTemplate: \u001b[2J it hangs', retryAt: AT };
const noTemplate = { code: 'template_unavailable', status: 409, title: 'x', detail: 'none is ready', retryable: true };
const { saved } = answerOf<Capture>('getCapture');
const capture = answerOf<Capture>('getCapture', {
  source: 'web 1\u001b[2J',
  saved: saved && { ...saved, quiesced: false },
});
const inUse = { code: 'capture_in_use', status: 409, title: 'x', detail: 'sandbox refers to it', retryable: false };
const pool = answerOf('getPool', {
  source: 'golden',
  state: 'degraded',
  wanted: 3,
  reason: 'capacity_exhausted: no room\u001b[2J',
  retryAt: '2026-01-01T00:00:30.000Z',
  claims: { hits: 7, misses: 1 },
  idleMibHours: 1234.567,
});
const shared = { ...pool, project: '-', shared: true };
const limits = { ...NO_LIMITS, sandboxes: 10, memoryMib: 20_480 };
const project = answerOf('getProject', { id: 'alpha', sources: [], limits });
const usage = { sandboxes: 3, cpus: 6, memoryMib: 1_536, diskBytes: GIB, createsLastMinute: 2 };
const newLimits = {
  sandboxes: 10,
  cpus: 40,
  memoryMib: 20_480,
  diskBytes: 1.5 * GIB,
  createsPerMinute: 30,
  streams: 0,
};
const KEY = '0123456789ab';
const key = answerOf('createKey', { id: KEY, diskBytes: 1.5 * GIB }, '201');
const scopes = '"scopes":["sandboxes:read","sandboxes:write"]';
const pageOf = (item: object) => ({ items: [item], nextCursor: null });
const TEMPLATE = `/v1/templates/${template.id}`;
const CAPTURE = `/v1/captures/${capture.id}`;

/** Words of a command line (%20: a blank in one), the answer, the request, the exit code, and the output. */
type Row = [words: string, answer: object, request: string, code: number, ...printed: (string | RegExp)[]];

const ROWS: Row[] = [
  [
    'template make web%201 --memory 512M --host kvm-1',
    template,
    'POST /v1/templates {"source":"web 1","hostId":"kvm-1","memoryMib":512}',
    0,
    template.id,
    '2 CPUs, 512 MiB',
    '86.0 MiB',
    '7 times',
  ],
  ['template make web', failedTemplate, 'POST /v1/templates {"source":"web"}', 1, 'it hangs'],
  ['template list', pageOf(template), 'GET /v1/templates', 0, '2/512'],
  [`template show ${template.id}`, template, `GET ${TEMPLATE}`, 0],
  [`template rm ${template.id}`, { ...template, state: 'gone' }, `DELETE ${TEMPLATE}`, 0],
  [`template rm ${template.id}`, { ...template, state: 'removing' }, `DELETE ${TEMPLATE}`, 124],
  [
    'sandbox create web --boot template',
    noTemplate,
    'POST /v1/sandboxes {"source":"web","boot":"template"}',
    1,
    'mayfly template create',
  ],
  [
    'capture create web%201 --host kvm-1 --wait 7',
    capture,
    'POST /v1/sources/web%201/captures {"hostId":"kvm-1"}',
    0,
    'not frozen: as after a power cut',
    'all: a simulated host copies trees as a whole',
    '236.0 KiB',
  ],
  ['capture create web', { ...capture, state: 'creating', saved: null }, 'POST /v1/sources/web/captures {}', 124],
  [`capture delete ${capture.id}`, { ...capture, state: 'deleting' }, `DELETE ${CAPTURE}`, 124],
  [`capture delete ${capture.id}`, inUse, `DELETE ${CAPTURE}`, 1, 'sandbox refers to it'],
  ['capture list web', pageOf(capture), 'GET /v1/sources/web/captures?limit=200', 0, `${capture.id}  ready  test`],
  [`capture get ${capture.id}`, capture, `GET ${CAPTURE}`, 0, `sha256 ${saved?.disks[0]?.sha256}`],
  [
    'pool set web golden --min 2 --memory 512M',
    pool,
    'PUT /v1/pools/web {"source":"golden","min":2,"max":2,"memoryMib":512}',
    0,
  ],
  [
    'pool show web',
    pool,
    'GET /v1/pools/web',
    0,
    'degraded',
    'wants 3',
    '7 had a member, 1 found none',
    '1234.567 MiB-hours',
    'no room',
    '2026-01-01T00:00:30.000Z',
  ],
  ['pool list', pageOf(pool), 'GET /v1/pools', 0, /\nweb +degraded +golden +1 +3 +7 +1\n/],
  ['pool rm web', { ...pool, state: 'deleted', members: [] }, 'DELETE /v1/pools/web', 0],
  ['pool rm web', { ...pool, state: 'deleting' }, 'DELETE /v1/pools/web', 124],
  ['pool set web golden --shared', shared, 'PUT /v1/pools/web {"source":"golden","min":1,"max":1,"shared":true}', 0],
  ['pool show web --shared', shared, 'GET /v1/pools/web?project=-', 0, 'projects share'],
  ['pool rm web --shared', { ...shared, state: 'deleted' }, 'DELETE /v1/pools/web?project=-', 0],
  ['pool list', pageOf(shared), 'GET /v1/pools', 0, 'web (shared)'],
  [
    'project create alpha --source golden --sandboxes 10 --cpus 40 --memory-gib 20 --disk-gib 1.5 --creates-per-minute 30 --streams 0',
    project,
    `POST /v1/projects ${JSON.stringify({ id: 'alpha', sources: ['golden'], limits: newLimits })}`,
    0,
    /^alpha may use its own sources; limits: sandboxes 10, memory-gib 20\.0 GiB\n$/,
  ],
  ['project set alpha --cpus none', project, 'PATCH /v1/projects/alpha {"limits":{"cpus":null}}', 0],
  [
    'project usage alpha',
    { project: 'alpha', ...usage, limits },
    'GET /v1/projects/alpha/usage',
    0,
    /^ +USED +LIMIT\nsandboxes +3 +10\ncpus +6 +no limit\nmemory-gib +1\.5 GiB +20\.0 GiB\n/,
    /\ndisk-gib +1\.0 GiB +no limit\ncreates-per-minute +2 +no limit\nstreams +- +no limit\n$/,
  ],
  ['key create ci', { ...key, secret: 'mfk_x' }, `POST /v1/keys {"name":"ci",${scopes}}`, 0],
  [
    'key create ci --disk-gib 50 --sandbox-disk-gib 0.5',
    key,
    `POST /v1/keys {"name":"ci",${scopes},"diskBytes":${50 * GIB},"sandboxDiskBytes":${GIB / 2}}`,
    0,
  ],
  [
    `key limit ${KEY} --disk-gib 1.5 --sandbox-disk-gib none`,
    key,
    `PATCH /v1/keys/${KEY} {"diskBytes":${1.5 * GIB},"sandboxDiskBytes":null}`,
    0,
    new RegExp(`^${KEY} may store 1\\.5 GiB in all, - for each sandbox \\(-: no limit\\)\n$`),
  ],
];

const wordsOf = (line: string) => line.split(' ').map(decodeURIComponent);

it.each(ROWS)('%s', async (line, answer, request, code, ...printed) => {
  const status = 'status' in answer ? Number(answer.status) : 200;
  server.answers((_request, response) => answerJson(response, status, answer));
  const ended = await runLine(server, wordsOf(line));
  const [first] = server.seen;
  expect([ended.code, `${first?.method} ${first?.path} ${first?.body}`.trim()]).toEqual([code, request]);
  const text = code === 0 ? ended.out : ended.out + ended.err;
  for (const one of printed) {
    if (one instanceof RegExp) expect(text).toMatch(one);
    else expect(text).toContain(one);
  }
  expect(text).not.toContain('\u001b');
});

it.each([
  ['template show cap-0123456789abcdef', 'mayfly template list'],
  ['capture get cap-x', ''],
  ['sandbox create web --capture cap-x', ''],
  ['pool set web golden --min -1', ''],
  ...[
    'set alpha',
    'set alpha --cpus -1',
    'set alpha --cpus 1.5',
    'set alpha --disk-gib 0',
    'set alpha --streams ',
    'set alpha --sandboxes 9999999',
    'usage',
  ].map((words) => [`project ${words}`, '']),
  ...['', ' --disk-gib -1', ' --disk-gib 0', ' --disk-gib 1e3', ' --disk-gib ', ' --disk-gib all'].map((words) => [
    `key limit ${KEY}${words}`,
    '',
  ]),
])('refuses %j before any request', async (line, remedy) => {
  server.answers((_request, response) => answerJson(response, 200, {}));
  const { code, err } = await runLine(server, wordsOf(line));
  expect([code, err, server.seen]).toEqual([2, expect.stringContaining(remedy), []]);
});

it('waits for a new template, up to the limit', async () => {
  const building = { ...template, state: 'building' };
  server.answers((_request, response, count) => answerJson(response, 200, count < 2 ? building : template));
  expect((await runLine(server, ['template', 'make', 'web'])).code).toBe(0);
  expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
  server.answers((_request, response) => answerJson(response, 200, building));
  expect((await runLine(server, ['template', 'make', 'web', '--wait', '1'])).code).toBe(124);
  server.answers((_request, response) => answerJson(response, 200, capture));
  await runLine(server, ['capture', 'create', 'web', '--wait', '7']);
  expect(server.seen[0]?.headers['prefer']).toBe('wait=7');
});

it('prints the storage of a sandbox, and the time of measurement', () => {
  const stored = {
    sandboxId: 'sbx-0123456789abcdef',
    usedBytes: 3 * GIB,
    quotaBytes: 10 * GIB,
    workspaceBytes: GIB,
    measuredAt: AT,
    snapshotBytes: 2 * GIB,
    snapshots: 1,
  };
  expect(usageLine(stored)).toBe(`  stores    3.0 GiB of 10.0 GiB: disk 1.0 GiB at ${AT}, 1 snapshot 2.0 GiB`);
  const unmeasured = { ...stored, quotaBytes: null, measuredAt: null, snapshots: 2 };
  expect(usageLine(unmeasured)).toBe('  stores    3.0 GiB: disk not measured, 2 snapshots 2.0 GiB');
});
