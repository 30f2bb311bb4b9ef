import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { MayflyClient } from '../../../clients/typescript/mayfly-client.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import { unprovenLayers } from '../../../model/sandbox/layers.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { Collector } from '../../support/collector.ts';
import { MayflyProcess, waitUntilReady } from '../../support/mayfly-process.ts';
import { startServers, startService } from '../../support/start-servers.ts';

const closers = new Closers();
const listening = z.object({ url: z.string(), hooksUrl: z.string() });
let state: StateDir;
let collector: Collector;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  const servers = await startServers(closers);
  state = servers.state;
  collector = await Collector.start();
  closers.add('collector', () => collector.stop());
  env = { ...collector.env, ...servers.env };
});
afterAll(() => closers.close());

const serve = (name: 'api' | 'control' | 'host', more: NodeJS.ProcessEnv) =>
  startService(closers, name, { ...env, ...more });

it('three processes create a sandbox, prove its end, and stop on SIGTERM', async () => {
  const key = new MayflyProcess(['key', 'create', 'first', '--scope', 'admin', '--local', '--json'], env);
  const { secret } = JSON.parse(await key.line('"secret"')) as { secret: string };
  expect(await key.end()).toBe(0);

  const api = serve('api', { MAYFLY_STATE_DIR: join(state.root, 'c'), MAYFLY_HOOKS_PORT: '0' });
  const control = serve('control', { MAYFLY_STATE_DIR: join(state.root, 'a') });
  const hostState = join(state.root, 'b');
  const host = serve('host', {
    MAYFLY_STATE_DIR: hostState,
    MAYFLY_HOST: 'simulated',
    MAYFLY_HOST_ID: 'served',
    MAYFLY_LOG_LEVEL: 'debug',
  });
  const { url, hooksUrl } = listening.parse(JSON.parse(await api.line('the API listens')));
  await waitUntilReady(url);
  const hook = (base: string) => fetch(`${base}/h/hok-0123456789abcdef`, { method: 'OPTIONS' });
  expect([(await hook(hooksUrl)).status, (await hook(url)).status]).toEqual([200, 404]);
  expect((await fetch(`${hooksUrl}/healthz`)).status).toBe(404);

  // Each request has an id, which all work for it carries.
  let requestId = 'the-create';
  const named: typeof fetch = (to, init) => {
    const headers = new Headers(init?.headers);
    headers.set('X-Request-Id', requestId);
    return fetch(to, { ...init, headers });
  };
  const client = new MayflyClient({ baseUrl: url, apiKey: secret, fetch: named });
  const running = await client.createSandbox({ source: 'golden-debian12' }, { waitSeconds: 60 });
  expect(running).toMatchObject({ state: 'running', hostId: 'served' });
  expect(await readdir(join(hostState, 'sandboxes'))).toEqual([running.id]);

  // An orphaned machine, which the worker removes on request, and spares the living one.
  const nobodys = join(hostState, 'sandboxes', 'sbx-0000000000000007');
  await mkdir(nobodys);
  const where = { MAYFLY_STATE_DIR: hostState, MAYFLY_HOST: 'simulated', MAYFLY_HOST_ID: 'served' };
  const doctor = new MayflyProcess(['doctor', '--fix', '--json'], { ...env, ...where });
  expect(JSON.parse(await doctor.line('"checks"'))).toMatchObject({
    residue: [{ sandboxId: 'sbx-0000000000000007', removed: true }],
  });
  await doctor.end();
  expect(await readdir(join(hostState, 'sandboxes'))).toEqual([running.id]);

  requestId = 'the-delete';
  const ended = await client.destroySandbox(running.id, { waitSeconds: 60 });
  expect(ended.state).toBe('destroyed');
  expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
  expect(await readdir(join(hostState, 'sandboxes'))).toEqual([]);
  await expect(client.getSandbox('sbx-0000000000000008')).rejects.toMatchObject({
    problem: { requestId: 'the-delete' },
  });
  const { items } = await client.sandboxAudit(running.id, { limit: 100 });
  const said = items.map(({ body }) => JSON.parse(body) as { kind: string; detail: { requestId?: string } });
  expect(said.find(({ kind }) => kind === 'sandbox.requested')?.detail.requestId).toBe('the-create');
  expect(said.find(({ kind }) => kind === 'sandbox.proof')?.detail.requestId).toBe('the-delete');
  const programs = host.output.split('\n').filter((line) => line.includes('"ran a program"'));
  expect(programs.some((line) => line.includes('"requestId":"the-create"'))).toBe(true);

  // Separation: only the control worker has the CA and the audit key.
  expect(await readdir(hostState)).not.toContain('control');
  expect(await readdir(join(state.root, 'c'))).toEqual(['api']);

  for (const child of [api, host, control]) expect(await child.end('SIGTERM')).toBe(0);

  // One trace from the request to a program on the host, each span the child of the one before.
  const chains = collector.spans.filter(({ name }) => name === 'cp').map((span) => collector.ancestors(span));
  const ofCreate = chains.find((chain) => chain.at(-1)?.name === 'POST /v1/sandboxes');
  expect(
    ofCreate?.map(({ name }) => name),
    JSON.stringify([chains, collector.spans], null, 1),
  ).toEqual(expect.arrayContaining(['RunActivity:prepare', 'StartActivity:prepare', 'RunWorkflow:sandbox']));
  expect(JSON.stringify(collector.spans)).not.toContain(secret);
});
