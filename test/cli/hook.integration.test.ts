import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import type { Hook } from '../../clients/typescript/http/openapi.ts';
import { verifySignature } from '../../services/webhooks/signing/sign.ts';
import type { Header } from '../../services/webhooks/signing/verdict.ts';
import { answerOf, RUN_ID, runRecord } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFreshFolder } from '../support/use-folder.ts';
import { askedBy, runLine } from './run-line.ts';

// `mayfly hook …` and `mayfly trigger` against a stand-in for the API. One second.

const SECRET = 'correct horse battery staple';
const hook = answerOf<Hook>('getHook', { function: 'fn', filter: null });

const server = useStandIn();
const folder = useFreshFolder();

const env = () => ({ MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret', MAYFLY_HOOK_SECRET: SECRET });

it('creates a hook with a new secret, which it prints once, and with the URL for its sender', async () => {
  const { code, out, asked } = await askedBy(
    server,
    ['hook', 'create', 'fn', '--scheme', 'github', '--type', 'a'],
    hook,
  );
  const { secrets, ...request } = JSON.parse(asked?.replace('POST /v1/hooks ', '') ?? '') as { secrets: [string] };
  expect(request).toEqual({ function: 'fn', scheme: 'github', filter: { types: ['a'] } });
  expect(Buffer.from(secrets[0], 'base64url')).toHaveLength(32);
  expect([code, out.includes(`${server.url}/h/${hook.id}`), out.includes(secrets[0])]).toEqual([0, true, true]);
});

it('reads a secret from the environment or a file, prints none, and requires those only the sender can make', async () => {
  const file = join(folder, 'secret');
  await writeFile(file, `${SECRET}\n`);
  const create = ['hook', 'create', 'fn', '--scheme', 'github'];
  for (const [args, options] of [
    [create, { env: env() }],
    [[...create, '--secret-file', file], {}],
  ] as const) {
    server.answers((_request, response) => answerJson(response, 201, hook));
    const { code, out, err } = await runLine(server, [...args], options);
    expect([code, `${out}${err}`.includes(SECRET)]).toEqual([0, false]);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toMatchObject({ secrets: [SECRET] });
  }
  const { code, err } = await runLine(server, ['hook', 'create', 'fn', '--scheme', 'stripe']);
  expect([code, err]).toEqual([2, expect.stringContaining('whsec_')]);
});

it.each([
  [['list', 'fn'], 'GET /v1/hooks?function=fn ', { items: [hook] }],
  [['show', hook.id], `GET /v1/hooks/${hook.id} `, hook],
  [['disable', hook.id], `POST /v1/hooks/${hook.id}/disable `, hook],
  [['enable', hook.id], `POST /v1/hooks/${hook.id}/enable `, hook],
  [['delete', hook.id], `DELETE /v1/hooks/${hook.id} `, {}],
])('sends its request: %j', async (args, expected, body) => {
  const { code, out, asked } = await askedBy(server, ['hook', ...args], body);
  expect([code, asked, out.includes(hook.id)]).toEqual([0, expected, true]);
});

it('lists the hooks of all functions or of one, each with its function', async () => {
  server.answers(({ path }, response) => {
    const name = new URL(path, 'http://x').searchParams.get('function');
    if (name === null) answerJson(response, 200, { items: [{ name: 'fn' }, { name: 'other' }] });
    else answerJson(response, 200, { items: [{ ...hook, id: `hok-${name}`, function: name }] });
  });
  const { code, out } = await runLine(server, ['hook', 'list']);
  expect([code, out]).toEqual([0, expect.stringMatching(/hok-fn +fn .*\nhok-other +other /)]);
});

it('hmac options describe the signature; a missing one is refused before any request', async () => {
  const hmac = {
    header: 'X-Sig',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: 'v1=',
    timestampHeader: 'X-Time',
  } as const;
  const signed = await askedBy(server, ['hook', 'create', 'fn', '--scheme', 'hmac', '--header', 'X-Sig'], {
    ...hook,
    hmac,
  });
  expect(signed.out).toContain('hmac, sha256 as hex in X-Sig after v1=, with the time of X-Time');
  for (const [args, said] of [
    [['--scheme', 'hmac'], '--header is missing'],
    [['--scheme', 'github', '--prefix', 'v1='], '--prefix is of --scheme hmac alone'],
  ] as const) {
    const { code, err } = await runLine(server, ['hook', 'create', 'fn', ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  }
});

it('rotates: the new secret is added to the old one', async () => {
  const old = join(folder, 'old');
  await writeFile(old, 'old');
  server.answers((_request, response) => answerJson(response, 200, hook));
  const args = ['hook', 'set-secret', hook.id, '--old-secret-file', old];
  expect((await runLine(server, args, { env: env() })).code).toBe(0);
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ secrets: [SECRET, 'old'] });
  expect((await runLine(server, ['hook', 'set-secret', hook.id])).code).toBe(2);
});

test('a sample is signed as by its sender, and sent without the key', async () => {
  const file = join(folder, 'push.json');
  await writeFile(file, '{"ref":"refs/heads/main"}\n');
  server.answers(({ method }, response) =>
    method === 'GET' ? answerJson(response, 200, hook) : answerJson(response, 202, { runId: RUN_ID }),
  );
  const line = ['trigger', 'github', 'push', '--hook', hook.id, '--file', file, '--delivery', 'd-1'];
  expect(await runLine(server, line, { env: env() })).toMatchObject({ code: 0, out: `${RUN_ID}\n` });
  const sent = server.seen.find(({ method }) => method === 'POST');
  const headers = Object.entries(sent?.headers ?? {}) as Header[];
  const request = { headers, body: Buffer.from(sent?.body ?? ''), now: Date.now() };
  expect(verifySignature({ scheme: 'github' }, [SECRET], request)).toMatchObject({ verified: true, deliveryId: 'd-1' });
  expect(sent).toMatchObject({ path: hook.path, headers: { 'x-github-event': 'push' } });
  expect(sent?.headers['authorization']).toBeUndefined();
});

test('hooks with their own URL are shown with it, and samples are sent there', async () => {
  const file = join(folder, 'push.json');
  await writeFile(file, '{}');
  const own = { ...hook, url: `${server.url}/own${hook.path}` };
  server.answers(({ method }, response) =>
    method === 'GET' ? answerJson(response, 200, own) : answerJson(response, 202, { runId: RUN_ID }),
  );
  expect((await runLine(server, ['hook', 'show', hook.id], { env: env() })).out).toContain(own.url);
  const line = ['trigger', 'github', 'push', '--hook', hook.id, '--file', file];
  expect((await runLine(server, line, { env: env() })).code).toBe(0);
  expect(server.seen.find(({ method }) => method === 'POST')?.path).toBe(`/own${hook.path}`);
});

test.each([
  [{ filtered: true }, 'filter'],
  [{ ping: true }, 'ping'],
  [{ runId: RUN_ID, duplicate: true }, 'came before'],
])('prints the result: %j', async (answer, said) => {
  const file = join(folder, 'x');
  await writeFile(file, '{}');
  server.answers(({ method }, response) => answerJson(response, 200, method === 'GET' ? hook : answer));
  const line = ['trigger', 'github', 'push', '--hook', hook.id, '--file', file];
  expect((await runLine(server, line, { env: env() })).out).toContain(said);
});

test.each([
  [['stripe', '--hook', hook.id, '--file', '/dev/null'], 'has the scheme github'],
  [['github', '--hook', hook.id, '--file', '/dev/null'], 'the name of the event is missing'],
  [['github', 'push', '--hook', 'fn', '--file', '/dev/null'], 'is not the id of a hook'],
  [['github', 'push', '--hook', hook.id, '--file', '/nowhere'], 'cannot be read'],
])('refuses an invalid sample: %j', async (args, why) => {
  server.answers((_request, response) => answerJson(response, 200, hook));
  const { code, err } = await runLine(server, ['trigger', ...args], { env: env() });
  expect([code, err]).toEqual([2, expect.stringContaining(why)]);
});

test('listens for new and ended runs, without the existing ones', async () => {
  const controller = new AbortController();
  const other = runRecord({ id: 'run-fedcba9876543210' });
  const lists = [[other], [runRecord(), other], [runRecord({ state: 'ended', outcome: 'succeeded' }), other]];
  server.answers(({ path }, response) => {
    if (path.startsWith('/v1/hooks')) return answerJson(response, 200, hook);
    const items = lists.shift();
    if (!items) controller.abort();
    return answerJson(response, 200, { items: items ?? [], nextCursor: null });
  });
  const { out } = await runLine(server, ['hook', 'listen', hook.id], { controller });
  expect(out.trim().split('\n')).toEqual([
    expect.stringMatching(new RegExp(`${RUN_ID} .* queued$`)),
    expect.stringMatching(new RegExp(`${RUN_ID} .* succeeded$`)),
  ]);
});
