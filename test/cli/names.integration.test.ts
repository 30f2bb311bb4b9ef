import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { sandboxRecord, snapshotRecord } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

const record = sandboxRecord({ name: 'web', state: 'running' });
const { id } = record;
const NAMED = '/v1/sandboxes/web';

const server = useStandIn();
const folder = useFolder();
beforeAll(async () => {
  await writeFile(join(folder, 'file'), 'x');
});

/** Fake API that knows the sandbox by its id and name, and refuses all other requests. */
beforeEach(() =>
  server.answers(({ method, path }, response) => {
    const isKnown = method === 'GET' && (path === NAMED || path === `/v1/sandboxes/${id}`);
    answerJson(response, isKnown ? 200 : 403, isKnown ? record : { code: 'forbidden', status: 403 });
  }),
);
const asked = () => server.seen.map(({ method, path }) => `${method} ${path.split('?')[0]}`);

// Guards: a name can replace an id, and all requests of one command go to the same sandbox. Costs nothing.
describe('a name in place of an id', () => {
  it.each([
    ['sandbox destroy web', `DELETE /v1/sandboxes/${id}`],
    ['rm web', `DELETE /v1/sandboxes/${id}`],
    ['sandbox get web', `GET /v1/sandboxes/${id}/usage`],
    ['snapshot create web', `GET /v1/sandboxes/${id}/audit`],
    ['snapshot list web', `GET /v1/sandboxes/${id}/snapshots`],
    ['restore web snp-0123456789abcdef', `GET /v1/sandboxes/${id}/audit`],
    ['audit show web', `GET /v1/sandboxes/${id}/audit`],
    ['command list web', `GET /v1/sandboxes/${id}/commands`],
    ['credential list web', `GET /v1/sandboxes/${id}/credentials`],
    ['ssh web', `POST /v1/sandboxes/${id}/credentials`],
    ['cp FILE web:/tmp/', `HEAD /v1/sandboxes/${id}/files/tmp/`],
    ['cp web:/tmp/x FILE', `HEAD /v1/sandboxes/${id}/files/tmp/x/`],
  ])('%s: is resolved once, and all further requests use the id', async (line, next) => {
    await runLine(server, line.replace('FILE', join(folder, 'file')).split(' '));
    const [first, ...more] = asked();
    expect(first).toBe(`GET ${NAMED}`);
    expect(more).toContain(next);
    expect(more.filter((one) => one.includes('/web'))).toEqual([]);
  });

  it.each([
    ['run web -- true', `POST ${NAMED}/commands`],
    ['logs web', `GET ${NAMED}/commands`],
    ['logs web cmd-0123456789abcdef', `GET ${NAMED}/commands/cmd-0123456789abcdef`],
    ['command get web cmd-0123456789abcdef', `GET ${NAMED}/commands/cmd-0123456789abcdef`],
    ['sandbox extend web --ttl 1h', `PATCH ${NAMED}`],
    ['pause web', `POST ${NAMED}/pause`],
    ['resume web', `POST ${NAMED}/resume`],
    ['credential revoke web --all', `DELETE ${NAMED}/credentials`],
  ])('%s: a single request needs no resolution', async (line, only) => {
    await runLine(server, line.split(' '));
    expect(asked()).toEqual([only]);
  });

  it('is refused before any request when it is invalid', async () => {
    for (const text of ['Web', 'sbx-x', 'a_b', '../x', 'cmd-0123456789abcdef']) {
      const { code, err } = await runLine(server, ['sandbox', 'get', text]);
      expect(code).toBe(2);
      expect(err).toContain('neither the id nor the name of a sandbox');
    }
    expect(server.seen).toEqual([]);
  });
});

describe('mayfly sandbox', () => {
  it('create --name sends the name, and refuses an invalid one', async () => {
    await runLine(server, ['sandbox', 'create', 'golden', '--name', 'web']);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ source: 'golden', name: 'web' });
    server.seen.length = 0;
    for (const name of ['sbx-web', 'Web', '', 'a'.repeat(64)]) {
      const { code, err } = await runLine(server, ['sandbox', 'create', 'golden', `--name=${name}`]);
      expect(code).toBe(2);
      expect(err).toContain('cannot name a sandbox');
    }
    expect(server.seen).toEqual([]);
  });

  it('names the sandbox that has the name', async () => {
    const detail = `${id}, which is running, is named web.`;
    server.answers((_request, response) => answerJson(response, 409, { code: 'name_taken', status: 409, detail }));
    const { code, err } = await runLine(server, ['sandbox', 'create', 'golden', '--name', 'web']);
    expect(code).toBe(1);
    expect(err).toContain(detail);
    expect(server.seen).toHaveLength(1);
  });

  it('list and get show it', async () => {
    server.answers((_request, response) => answerJson(response, 200, { items: [record], nextCursor: null }));
    const { out } = await runLine(server, ['sandbox', 'list']);
    expect(out.split('\n')[0]).toMatch(/^ID +NAME +STATE/);
    expect(out).toMatch(new RegExp(`${id} +web +running`));
    server.answers((_request, response) => answerJson(response, 200, { ...record, snapshots: 0 }));
    expect((await runLine(server, ['sandbox', 'get', 'web'])).out).toMatch(/name +web/);
  });
});

describe('names of snapshots, and of ended sandboxes', () => {
  const other = sandboxRecord({ id: id.replace(/.$/, 'z'), name: 'db', state: 'running' });
  const old = sandboxRecord({ id: id.replace(/.$/, 'y'), name: 'old', state: 'destroyed' });
  const SNAPSHOT = 'snp-0123456789abcdef';
  const SAME = 'snp-0123456789abcdeg';
  const taken = (of: string, name: string, snapshotId: string) =>
    snapshotRecord({ id: snapshotId, name, sandboxId: of, state: 'ready' });
  const snapshots = [taken(id, 'installed', SNAPSHOT), taken(id, 'both', SNAPSHOT), taken(other.id, 'both', SAME)];
  const gone = taken(old.id, 'installed', 'snp-0123456789abcdeh');
  const missing = { code: 'sandbox_not_found', status: 404 };

  beforeEach(() =>
    server.answers(({ method, path }, response) => {
      const [, of] = /^\/v1\/sandboxes\/(sbx-\w+)\/snapshots/.exec(path) ?? [];
      const list = (items: object[]) => answerJson(response, 200, { items, nextCursor: null });
      if (path.startsWith('/v1/snapshots?')) return list([...snapshots, gone]);
      if (of) return list(snapshots.filter(({ sandboxId }) => sandboxId === of));
      if (path.startsWith('/v1/sandboxes?'))
        return list(path.includes('alive') ? [record, other] : [record, other, old]);
      if (path.endsWith('/audit') || path.includes('/audit?')) return list([]);
      if (method === 'GET' && path === NAMED) return answerJson(response, 200, record);
      if (path === '/v1/sandboxes/old') return answerJson(response, 404, missing);
      answerJson(response, 403, { code: 'forbidden', status: 403 });
    }),
  );

  it.each([
    ['snapshot get installed', `GET /v1/snapshots/${SNAPSHOT}`],
    ['snapshot get web/installed', `GET /v1/snapshots/${SNAPSHOT}`],
    ['snapshot get db/both', `GET /v1/snapshots/${SAME}`],
    ['snapshot delete installed', `DELETE /v1/snapshots/${SNAPSHOT}`],
    ['fork installed', 'POST /v1/sandboxes'],
    ['source bake web-2 --from installed', 'POST /v1/sources'],
    ['audit show old', `GET /v1/sandboxes/${old.id}/audit`],
    ['snapshot list old', `GET /v1/sandboxes/${old.id}/snapshots`],
  ])('%s', async (line, wanted) => {
    const words = line.replace('db/', `${other.id}/`).split(' ');
    await runLine(server, words);
    expect(asked()).toContain(wanted);
  });

  it('reports an ambiguous name with its candidates, and an unknown one', async () => {
    const several = await runLine(server, ['fork', 'both']);
    expect([several.code, several.err]).toEqual([2, expect.stringContaining(`${id}/both, ${other.id}/both`)]);
    const none = await runLine(server, ['snapshot', 'get', 'web/nothing']);
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('mayfly snapshot list')]);
    for (const text of ['a/b/c', 'sbx-x', '-x', '', 'web/']) {
      expect((await runLine(server, ['snapshot', 'get', '--', text])).code, text).toBe(2);
    }
  });

  it('lists the snapshots of all sandboxes, and ids alone with -q', async () => {
    const { out } = await runLine(server, ['snapshot', 'list']);
    expect(out).toMatch(new RegExp(`${SNAPSHOT} +installed +web `));
    expect(out).toMatch(new RegExp(`${SAME} +both +db `));
    expect((await runLine(server, ['snapshot', 'list', '-q'])).out).toBe(`${SNAPSHOT}\n${SNAPSHOT}\n${SAME}\n`);
    expect(asked()).toEqual(['GET /v1/sandboxes', 'GET /v1/snapshots', 'GET /v1/sandboxes', 'GET /v1/snapshots']);
    expect((await runLine(server, ['snapshot', 'list', '--all'])).out).toMatch(
      new RegExp(`${gone.id} +installed +old `),
    );
    expect((await runLine(server, ['ls', '-q'])).out).toBe(`${id}\n${other.id}\n`);
    expect((await runLine(server, ['ps', '--quiet', '--all'])).out).toBe(`${id}\n${other.id}\n${old.id}\n`);
  });

  it('destroys all live sandboxes with rm --all, which accepts no other argument', async () => {
    server.answers(({ method, path }, response) => {
      if (path.startsWith('/v1/sandboxes?')) answerJson(response, 200, { items: [record, other], nextCursor: null });
      else answerJson(response, method === 'GET' ? 200 : 403, method === 'GET' ? record : missing);
    });
    await runLine(server, ['rm', '--all']);
    expect(asked().filter((line) => line.startsWith('DELETE'))).toHaveLength(2);
    for (const words of [['rm'], ['rm', '--all', 'web']]) expect((await runLine(server, words)).code).toBe(2);
  });

  it('sandbox set is the same as extend', async () => {
    await runLine(server, ['sandbox', 'set', 'web', '--ttl', '1h', '--idle', 'off', '--auto-resume', 'on']);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ ttlSeconds: 3_600, idleSeconds: null, autoResume: true });
  });
});

it('mayfly fork --name needs a single fork', async () => {
  const fork = ['fork', 'snp-0123456789abcdef', '--name', 'web'];
  expect((await runLine(server, [...fork, '--count', '2'])).code).toBe(2);
  expect(server.seen).toEqual([]);
  await runLine(server, fork);
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ snapshotId: 'snp-0123456789abcdef', name: 'web' });
});

it('mayfly cp treats an argument with a slash before the colon as a local path, as scp does', async () => {
  const { code, err } = await runLine(server, ['cp', join(folder, 'file'), 'web:tmp']);
  expect(code).toBe(2);
  expect(err).toContain('./web:tmp');
  expect((await runLine(server, ['cp', './web:/x', './sbx-0:/y'])).err).toContain('one side must be in a sandbox');
  expect(server.seen).toEqual([]);
});

// Guards: an automatic retry never addresses the next sandbox of the same name. Costs 1 s.
describe('MayflyClient', () => {
  const client = () => new MayflyClient({ baseUrl: server.url, apiKey: 'mfk_x' });
  const cutOff = () =>
    server.answers(({ method }, response) =>
      method === 'GET' ? answerJson(response, 200, record) : response.destroy(),
    );

  it('sends a change or destroy by name once, and retries by id', async () => {
    cutOff();
    await expect(client().destroySandbox('web')).rejects.toThrow('does not answer');
    await expect(client().extendSandbox('web', { ttlSeconds: 60 })).rejects.toThrow('does not answer');
    expect(asked()).toEqual([`DELETE ${NAMED}`, `PATCH ${NAMED}`]);
    await expect(client().destroySandbox(id)).rejects.toThrow('does not answer');
    expect(server.seen.length).toBeGreaterThan(3);
  });

  it('follows the sandbox that had the name at the start', async () => {
    server.answers(({ path }, response) => {
      if (!path.endsWith('/events')) return answerJson(response, 200, { ...record, state: 'destroyed' });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: sandbox\ndata: ${JSON.stringify(record)}\n\n`);
    });
    const names: (string | null)[] = [];
    for await (const { name } of client().watchSandbox('web')) names.push(name);
    expect(names).toEqual(['web']);
    expect(asked()).toEqual([`GET ${NAMED}`, `GET /v1/sandboxes/${id}/events`, `GET /v1/sandboxes/${id}`]);
  });
});
