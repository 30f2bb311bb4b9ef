import { randomBytes } from 'node:crypto';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import { isImageFinal } from '../../../model/image/image.ts';
import { temporalClient } from '../../../worker/payloads/data-converter.ts';
import { eventually } from '../../support/eventually.ts';
import { ServedMayfly } from '../../support/served.ts';

const random = () => randomBytes(9).toString('hex').toUpperCase();

/** Secrets by their place, all different, so that a find shows its origin. */
const PLANTED = {
  metadata: `ghp_${random()}${random()}`,
  agentId: `AKIA${random()
    .replace(/[^A-F2-7]/g, 'Q')
    .slice(0, 16)}`,
  variable: random(),
  flag: random(),
  environment: random(),
  stdin: random(),
  path: random(),
  fileName: random(),
  content: random(),
  privateKey: random(),
  webhook: random(),
  refused: random(),
  query: random(),
  build: random(),
  /** Matches no redaction rule: only encryption protects it. */
  words: `correct horse ${random()}`,
};
type Place = keyof typeof PLANTED;

/** Programs of Mayfly, in contrast to those of the guest. */
const OURS = new Set(['node', 'mayfly-agent', 'mayfly-store', 'temporal', 'mongod']);

let mayfly: ServedMayfly;
let sandboxId = '';
const errors: string[] = [];
const seen: string[] = [];

beforeAll(async () => {
  vi.stubEnv('MAYFLY_LOG_LEVEL', 'debug');
  mayfly = await ServedMayfly.start({ MAYFLY_HOST: 'simulated' });
  const { client } = mayfly;
  const metadata = { note: PLANTED.metadata, other: PLANTED.words };
  const request = { source: 'golden-debian12', memoryMib: 64, metadata };
  sandboxId = (await client.createSandbox(request, { waitSeconds: 120 })).id;
  const run = (what: Parameters<typeof client.commands.run>[1]) =>
    client.commands.run(sandboxId, what, { waitSeconds: 60 });
  await run({ command: `AWS_SECRET_ACCESS_KEY=${PLANTED.variable} true; : ${PLANTED.words}` });
  await run({ argv: ['true', '--password', PLANTED.flag] });
  await run({ command: `echo '-----BEGIN OPENSSH PRIVATE KEY-----\n${PLANTED.privateKey}' >&2; exit 3` });
  await run({ argv: ['true', `https://example.com/hooks/T0000/${PLANTED.webhook}`] });
  const going = run({ command: 'cat; sleep 1', env: { API_TOKEN: PLANTED.environment }, stdin: PLANTED.stdin });
  const at = async () => (await client.commands.list(sandboxId)).items.some(({ state }) => state === 'running');
  await eventually(at, (isRunning) => isRunning);
  seen.push(...(await ourProcesses()));
  await going;
  await client.files.write(sandboxId, `/tmp/token=${PLANTED.path}`, Buffer.from(PLANTED.content));
  await client.files.write(sandboxId, `/tmp/${PLANTED.fileName}`, Buffer.from('x'));
  await run({ command: 'cat /tmp/token=*; echo; cat /tmp/token=* >&2' });
  const dockerfile =
    'FROM golden-debian12\nRUN --mount=type=secret,id=key cat /run/secrets/key; sleep 1; cat /run/secrets/key >&2; exit 3';
  const secrets = { key: Buffer.from(PLANTED.build).toString('base64') };
  const { id: imageId } = await client.images.build({ name: 'planted', dockerfile, secrets });
  const built = async () => {
    seen.push(...(await ourProcesses()));
    return client.images.get(imageId);
  };
  errors.push(JSON.stringify(await eventually(built, ({ state }) => isImageFinal(state))));
  const refused = [
    () => client.createSandbox({ ...request, agentId: PLANTED.agentId }),
    () => run({ argv: [`/no/such/password=${PLANTED.refused}`], cwd: `/no/such/password=${PLANTED.refused}` }),
    () => client.getSandbox(`token=${PLANTED.query}`),
    () => client.files.read(sandboxId, `/no/token=${PLANTED.query}`),
  ];
  for (const ask of refused) errors.push(await ask().then(String, (error: unknown) => told(error)));
  await client.destroySandbox(sandboxId, { waitSeconds: 120 });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mayfly?.stop();
});

function told(error: unknown): string {
  if (!(error instanceof MayflyApiError)) throw error;
  return JSON.stringify(error.problem);
}

/** Returns arguments and environment of Mayfly's processes, as root or `ps` shows them. */
async function ourProcesses(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = pids.map(async (pid) => {
    try {
      const program = basename(await readlink(`/proc/${pid}/exe`)).replace(' (deleted)', '');
      if (!OURS.has(program)) return [];
      const about = ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'latin1'));
      return [`${program} ${(await Promise.all(about)).join(' ')}`];
    } catch {
      return []; // it has ended
    }
  });
  return (await Promise.all(found)).flat();
}

/**
 * Finds planted secrets, also as base64 at any offset: Temporal exports bytes so, and the embedded store keeps them so.
 */
function foundIn(text: string): Place[] {
  const forms = (secret: string) => [
    secret,
    ...[0, 1, 2].map((shift) =>
      Buffer.from(' '.repeat(shift) + secret)
        .toString('base64')
        .slice(4, -4),
    ),
  ];
  return Object.entries(PLANTED)
    .filter(([, secret]) => forms(secret).some((form) => text.includes(form)))
    .map(([place]) => place as Place);
}

/** Reads all files below a folder while programs use it, as a thief would copy them. */
async function copied(folder: string): Promise<{ names: string[]; content: string }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const content = await Promise.all(files.map((path) => readFile(path, 'latin1')));
  return { names: files.map((path) => basename(path)), content: content.join('\n') };
}

test("Temporal's database on disk contains no planted secret", async () => {
  const { names, content } = await copied(join(mayfly.state.root, 'temporal'));
  expect(names).toContain('temporal.db');
  expect(content).toContain(sandboxId);
  expect(content).toContain('binary/encrypted');
  expect(foundIn(content)).toEqual([]);
  expect(content, 'what people read there stays readable').toContain(`${sandboxId} from golden-debian12`);
});

test('an exported history contains no planted secret', async () => {
  const connection = await Connection.connect({ address: mayfly.temporalAddress });
  try {
    const { workflow, options } = temporalClient({ connection, dataConverter: {} });
    // the client's own list would have to decode the memo of a build
    const all = { namespace: options.namespace, pageSize: 1_000 };
    const { executions } = await connection.workflowService.listWorkflowExecutions(all);
    const exported: string[] = [];
    for (const { execution } of executions) {
      const { workflowId = '', runId = '' } = execution ?? {};
      if (!workflowId || !runId) continue;
      const history = await workflow.getHandle(workflowId, runId).fetchHistory();
      exported.push(`${workflowId} ${historyToJSON(history)}`);
    }
    expect(exported.some((text) => text.startsWith(`sandbox/${sandboxId} `))).toBe(true);
    for (const kind of ['command/', 'image/']) expect(exported.some((text) => text.startsWith(kind))).toBe(true);
    expect(foundIn(exported.join('\n'))).toEqual([]);
  } finally {
    await connection.close();
  }
});

test.runIf(process.env['MONGODB_URI'] === undefined)(
  "the store's files contain no planted secret",
  { tags: ['tool'] },
  async () => {
    const { content } = await copied(mayfly.storeFolder ?? '');
    expect(content).toContain(sandboxId);
    expect(foundIn(content)).toEqual([]);
  },
);

test('no log contains a planted secret, at debug', () => {
  for (const process of [mayfly.api, mayfly.control, mayfly.host]) {
    expect(process?.output.length).toBeGreaterThan(0);
    expect(foundIn(process?.output ?? '')).toEqual([]);
  }
  expect(mayfly.host?.output).toContain('"level":20');
});

test('no error response contains a planted secret', () => {
  expect(errors.length).toBe(5);
  expect(errors.join()).toContain('***');
  expect(foundIn(errors.join('\n'))).toEqual([]);
});

test('no program of Mayfly has a planted secret in its arguments or environment', () => {
  expect(seen.some((line) => line.startsWith('mayfly-agent'))).toBe(true);
  expect(foundIn(seen.join('\n'))).toEqual([]);
});

test('no document of the store contains a planted secret', async () => {
  const store = await mongoose.createConnection(mayfly.storeUri).asPromise();
  const found: Record<string, Place[]> = {};
  const seenIn: string[] = [];
  try {
    for (const { name } of (await store.db?.listCollections().toArray()) ?? []) {
      const documents = await store.collection(name).find().toArray();
      if (documents.length > 0) seenIn.push(name);
      const text = documents.map((each) => JSON.stringify(each)).join('\n');
      if (foundIn(text).length > 0) found[name] = foundIn(text);
    }
  } finally {
    await store.close();
  }
  expect(seenIn).toEqual(expect.arrayContaining(['audit', 'commands', 'endedSandboxes', 'idempotency', 'output']));
  expect(found).toEqual({});
});
