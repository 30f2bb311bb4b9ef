import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAYERS } from '../../model/sandbox/layers.ts';
import { ID, sandboxRecord } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { type LineOptions, runLine } from './run-line.ts';

const server = useStandIn();
const stateDir = useFolder();

const cli = (args: string[], options?: LineOptions) => runLine(server, args, options);

const proof = {
  sandboxId: ID,
  hostId: 'host',
  provedAt: '2026-11-21T10:01:00.000Z',
  observations: LAYERS.map((layer) => ({
    layer,
    lookedAt: `the ${layer}`,
    absent: true,
    at: '2026-11-21T10:01:00.000Z',
  })),
};
const destroyed = sandboxRecord({ state: 'destroyed', stopReason: 'deleted', proof });

function streamOf(request: Seen, records: unknown[]): string | null {
  if (!request.path.endsWith('/events')) return null;
  return records.map((record) => `event: sandbox\ndata: ${JSON.stringify(record)}\n\n`).join('');
}

describe('mayfly', () => {
  it('creates: steps on stderr, the sandbox on stdout', async () => {
    server.answers((request, response) => {
      const stream = streamOf(request, [sandboxRecord()]);
      if (stream !== null) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream);
      else answerJson(response, 202, sandboxRecord({ state: 'requested', steps: [] }));
    });
    const { code, out, err } = await cli([
      'sandbox',
      'create',
      'golden-debian12',
      '--cpus',
      '2',
      '--auto-resume',
      '--metadata',
      'a=b=c',
    ]);
    expect(code).toBe(0);
    expect(out).toContain('sandbox@127.64.0.2 port 2222');
    expect(err).toMatch(/cloneDisk\s+120 ms/);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({
      source: 'golden-debian12',
      cpus: 2,
      autoResume: true,
      metadata: { a: 'b=c' },
    });
    expect(server.seen[0]?.headers['prefer']).toBe('wait=0');
  });

  it('prints exactly one JSON document with --json, also of an error', async () => {
    server.answers((_request, response) => answerJson(response, 200, destroyed));
    const found = await cli(['sandbox', 'get', ID, '--json']);
    expect(JSON.parse(found.out)).toEqual(destroyed);
    server.answers((_request, response) => answerJson(response, 404, { code: 'sandbox_not_found', requestId: 'r9' }));
    const missing = await cli(['sandbox', 'get', ID, '--json']);
    expect(missing.code).toBe(3);
    expect(JSON.parse(missing.out)).toMatchObject({
      error: { exitCode: 3, code: 'sandbox_not_found', requestId: 'r9' },
    });
  });

  it('destroys: 0 only with a complete proof', async () => {
    server.answers((_request, response) => answerJson(response, 200, destroyed));
    const whole = await cli(['sandbox', 'destroy', ID]);
    expect(whole.code).toBe(0);
    for (const layer of LAYERS) expect(whole.out).toMatch(new RegExp(`${layer}\\s+absent`));
    const partial = { ...proof, observations: proof.observations.slice(1) };
    server.answers((_request, response) => answerJson(response, 200, { ...destroyed, proof: partial }));
    const cut = await cli(['sandbox', 'destroy', ID]);
    expect(cut.code).toBe(1);
    expect(cut.out).toContain('credentials: nobody looked');
  });

  it('reports that the saga continues when Ctrl-C ends a create', async () => {
    const controller = new AbortController();
    server.answers((request, response) => {
      if (!request.path.endsWith('/events'))
        return answerJson(response, 202, sandboxRecord({ state: 'creating', phase: 'booting' }));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      controller.abort(new Error('interrupted'));
    });
    const { code, err } = await cli(['sandbox', 'create', 'golden-debian12'], { controller });
    expect(code).toBe(130);
    expect(err).toContain('its saga goes on');
    expect(err).toContain(`mayfly sandbox destroy ${ID}`);
  });

  it('ends with 124 when --wait times out', async () => {
    server.answers((request, response) => {
      if (request.path.endsWith('/events'))
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      else answerJson(response, 202, sandboxRecord({ state: 'creating', phase: 'booting' }));
    });
    expect((await cli(['sandbox', 'create', 'golden-debian12', '--wait', '1'])).code).toBe(124);
  });

  it('reports the failure of a create with its reason and remedy', async () => {
    const failure = { code: 'capacity_exhausted', step: 'reserve', message: '512 MiB asked, 100 MiB free' } as const;
    server.answers((_request, response) => answerJson(response, 202, { ...destroyed, state: 'failed', failure }));
    const { code, out } = await cli(['sandbox', 'create', 'golden-debian12']);
    expect(code).toBe(5);
    expect(out).toContain('512 MiB asked');
    expect(out).toContain('Ask for less');
  });

  it('escapes hostile names', async () => {
    const spec = { ...sandboxRecord().spec, source: 'a\u001b]0;owned\u0007\u009b31m\u202eb' };
    server.answers((_request, response) => answerJson(response, 200, sandboxRecord({ spec })));
    for (const json of [[], ['--json']]) {
      const { out } = await cli(['sandbox', 'get', ID, ...json]);
      for (const obeyed of ['\u001b', '\u0007', '\u009b', '\u202e']) expect(out).not.toContain(obeyed);
    }
  });

  it('lists all pages as NDJSON', async () => {
    server.answers((_request, response, count) => {
      answerJson(response, 200, { items: [sandboxRecord()], nextCursor: count === 0 ? 'more' : null });
    });
    const { code, out } = await cli(['sandbox', 'list', '--json', '--state', 'running']);
    expect(code).toBe(0);
    expect(out.trim().split('\n')).toHaveLength(2);
    expect(server.seen[1]?.path).toBe('/v1/sandboxes?limit=200&cursor=more&state=running');
  });

  it.each([
    [['toString']],
    [['sandbox']],
    [['sandbox', 'create', 'a', 'b']],
    [['sandbox', 'create', 'a', '--cpu', '2']],
    [['sandbox', 'create', 'a', '--cpus', '-1']],
    [['sandbox', 'create', 'a', '--cpus', '1e3']],
    [['sandbox', 'create', 'a', '--metadata', 'nothing']],
    [['sandbox', 'create', 'a', '--egress', 'all']],
    [['sandbox', 'get', '../../etc']],
    [['sandbox', 'extend', ID]],
    [['sandbox', 'extend', ID, '--auto-resume', 'yes']],
    [['sandbox', 'list', '--state', 'gone']],
    [['key', 'create', 'ci', '--scope', 'root']],
    [['serve', 'everything']],
  ])('refuses %j as usage, before any request', async (args) => {
    server.answers((_request, response) => answerJson(response, 500, {}));
    const { code, err } = await cli(args);
    expect(code).toBe(2);
    expect(err).toMatch(/why: .*\n {2}do: /);
    expect(server.seen).toEqual([]);
  });

  it.each([
    [['sandbox', 'get'], 'mayfly sandbox get'],
    [['sandbox', 'create', 'x', '--ttl', '1x'], 'mayfly sandbox create'],
    [['rm'], 'mayfly rm'],
    [[], 'mayfly'],
  ])('names the help of the command that %j meant', async (args, command) => {
    expect((await cli(args)).err).toContain(`do:   See \`${command} --help\`.`);
  });

  it.each([
    [['sandbx', 'list'], 'mayfly sandbox'],
    [['sandbox', 'lst'], 'mayfly sandbox list'],
    [['create', 'golden'], 'mayfly sandbox create'],
    [['destory', ID], 'mayfly rm'],
    [['function', 'remove'], 'mayfly function delete'],
    [['source', 'prepar'], 'mayfly source prepare'],
  ])('suggests what %j may mean, and prints no list of commands', async (args, meant) => {
    const { code, err } = await cli(args);
    expect(code).toBe(2);
    expect(err).toContain(`Did you mean \`${meant}\`?`);
    expect(err.split('\n').length).toBeLessThan(6);
  });

  it.each([[['frobnicate']], [['sandbox', 'frobnicate']]])('suggests nothing for %j', async (args) => {
    expect((await cli(args)).err).toContain('--help');
  });

  it('accepts human-readable times and sizes', async () => {
    server.answers((_request, response) => answerJson(response, 202, sandboxRecord()));
    await cli([
      'sandbox',
      'create',
      'golden',
      '--ttl',
      '1h30m',
      '--idle',
      '15m',
      '--on-idle',
      'hibernate',
      '--memory',
      '2G',
    ]);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({
      source: 'golden',
      ttlSeconds: 5_400,
      idleSeconds: 900,
      onIdle: 'hibernate',
      memoryMib: 2_048,
    });
    expect((await cli(['sandbox', 'create', 'golden', '--memory', '2G', '--memory-mib', '64'])).code).toBe(2);
  });

  it.each([
    [['golden-agent', 'golden-debian12'], 'golden-agent'],
    [['golden-debian12'], 'golden-debian12'],
  ])('creates a sandbox without a source argument, given %j, from %s', async (names, source) => {
    const items = names.map((name) => ({ name, hosts: ['host'] }));
    server.answers(({ path, method }, response) => {
      if (path.startsWith('/v1/sources')) return answerJson(response, 200, { items, nextCursor: null });
      answerJson(response, method === 'POST' ? 201 : 200, sandboxRecord());
    });
    expect((await cli(['sandbox', 'create'])).code).toBe(0);
    const asked = server.seen.find(({ method }) => method === 'POST');
    expect(JSON.parse(asked?.body ?? '')).toEqual({ source });
  });

  it('waits for a sandbox, also repeatedly, and prints how to resume the wait', async () => {
    const record = (state: string) => sandboxRecord({ state: state as 'running' });
    const goes = (...states: string[]) =>
      server.answers(({ path }, response) => {
        if (!path.endsWith('/events')) return answerJson(response, 200, record(states[0] ?? ''));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const state of states) response.write(`event: sandbox\ndata: ${JSON.stringify(record(state))}\n\n`);
      });
    goes('creating', 'running');
    expect(await cli(['sandbox', 'wait', ID])).toMatchObject({ code: 0, out: expect.stringContaining('running') });
    goes('running', 'destroying', 'destroyed');
    expect(await cli(['sandbox', 'wait', ID, '--for', 'ended'])).toMatchObject({ code: 0 });
    goes('creating', 'failed');
    expect((await cli(['sandbox', 'wait', ID])).code).not.toBe(0);
    const controller = new AbortController();
    server.answers(({ path }, response) => {
      if (path.endsWith('/events')) controller.abort(new Error('interrupted'));
      else answerJson(response, 200, record('creating'));
    });
    expect(await cli(['sandbox', 'wait', ID], { controller })).toMatchObject({
      code: 130,
      err: expect.stringContaining(`mayfly sandbox wait ${ID}`),
    });
  });

  it('lists live sandboxes under each alias, and all with --all', async () => {
    server.answers((_request, response) => answerJson(response, 200, { items: [sandboxRecord()], nextCursor: null }));
    for (const words of [['sandbox', 'list'], ['ps'], ['ls'], ['ps', '-a'], ['ls', '--all']]) {
      expect((await cli(words)).out).toContain(ID);
    }
    expect(server.seen.map(({ path }) => path.includes('alive=true'))).toEqual([true, true, true, false, false]);
  });

  it('destroys several, continues after a missing one, and ends with its code', async () => {
    const other = ID.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const gone = { type: 'about:blank', title: 'gone', status: 404, code: 'sandbox_not_found' };
    server.answers((request, response) => {
      if (request.path.includes(other)) answerJson(response, 404, gone);
      else answerJson(response, 200, destroyed);
    });
    const { code, out, err } = await cli(['rm', other, ID, '--json']);
    expect(code).toBe(3);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).state ?? 'error'),
    ).toEqual(['error', 'destroyed']);
    expect(err).toContain('gone');
    expect((await cli(['rm'])).code).toBe(2);
  });

  it('ends with 5 and a remedy when nothing listens', async () => {
    const env = { MAYFLY_URL: 'http://127.0.0.1:1', MAYFLY_API_KEY: 'k' };
    const { code, err } = await cli(['key', 'create', 'ci'], { env });
    expect(code).toBe(5);
    expect(err).toContain('mayfly up');
    expect(err).not.toContain('    at ');
  });

  it('sends the stored key to the stored address only, and only when its file is private', async () => {
    const path = join(stateDir, 'cli.json');
    await writeFile(path, JSON.stringify({ apiUrl: server.url, apiKey: 'mfk_stored' }), { mode: 0o600 });
    server.answers((_request, response) => answerJson(response, 200, { items: [], nextCursor: null }));
    const stored = await cli(['sandbox', 'list'], { env: { MAYFLY_STATE_DIR: stateDir } });
    expect(stored.code).toBe(0);
    expect(server.seen[0]?.headers['authorization']).toBe('Bearer mfk_stored');
    const elsewhere = { MAYFLY_STATE_DIR: stateDir, MAYFLY_URL: 'http://127.0.0.1:1' };
    expect((await cli(['sandbox', 'list'], { env: elsewhere })).code).toBe(4);
    await rm(path);
    expect(await cli(['sandbox', 'list'], { env: { MAYFLY_STATE_DIR: stateDir } })).toMatchObject({
      code: 5,
      err: expect.stringContaining('No installation runs here'),
    });
    await writeFile(path, JSON.stringify({ apiUrl: server.url, apiKey: 'mfk_stored' }), { mode: 0o644 });
    const open = await cli(['sandbox', 'list'], { env: { MAYFLY_STATE_DIR: stateDir } });
    expect(open.code).toBe(4);
    expect(open.err).toContain('chmod 600');
  });

  it('never prints the key', async () => {
    server.answers((_request, response) => answerJson(response, 401, { code: 'unauthenticated', status: 401 }));
    const { code, out, err } = await cli(['host', 'list', '--json']);
    expect(code).toBe(4);
    expect(out + err).not.toContain('mfk_secret');
  });

  it('never prints an invalid key', async () => {
    const env = { MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret\nand what was written with it' };
    const before = server.seen.length;
    const { code, out, err } = await cli(['host', 'list', '--json'], { env });
    expect([code, server.seen.length]).toEqual([4, before]);
    expect(err).toContain('MAYFLY_API_KEY is no API key');
    expect(out + err).not.toContain('mfk_secret');
  });
});
