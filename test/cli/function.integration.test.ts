import { chmod, mkdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { deployedFunction, functionVersion } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFreshFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

// `mayfly function init|deploy|list|show|pause|resume|activate|delete` against a stand-in for the API. One second.

const server = useStandIn();
const folder = useFreshFolder();
beforeEach(async () => {
  server.answers((_request, response) => answerJson(response, 201, functionVersion));
});

const line = (args: string[]) => runLine(server, ['function', ...args]);
const asked = ({ method, path }: Seen) => `${method} ${path}`;
const into = (name: string, text: string, mode = 0o644) => writeFile(join(folder, name), text, { mode });

interface Sent {
  files: { tar: string };
}
const sent = () => JSON.parse(server.seen[0]?.body ?? '') as Sent & Record<string, unknown>;
const entries = () => tarEntries(Buffer.from(sent().files.tar, 'base64'));

it('creates a deployable function, and overwrites nothing', async () => {
  const fresh = join(folder, '1 Resize_Images');
  expect((await line(['init', fresh, '--source', 'web-1'])).code).toBe(0);
  const manifest: unknown = JSON.parse(await readFile(join(fresh, 'mayfly.json'), 'utf8'));
  expect(manifest).toEqual({ name: 'resize-images', source: 'web-1', argv: ['./main.sh'] });
  expect((await stat(join(fresh, 'main.sh'))).mode & 0o111).toBe(0o111);
  const main = await readFile(join(fresh, 'main.sh'), 'utf8');
  expect(main.match(/^echo .*$/gm)?.map((said) => said.endsWith('>&2'))).toEqual([false, true]); // log lines on both streams
  await writeFile(join(fresh, 'main.sh'), 'mine');
  await rm(join(fresh, '.mayflyignore'));
  const { code, out } = await line(['init', fresh]);
  expect([code, await readFile(join(fresh, 'main.sh'), 'utf8')]).toEqual([0, 'mine']);
  expect(out.match(/is there already/g)).toHaveLength(2);
  expect(await readFile(join(fresh, '.mayflyignore'), 'utf8')).toContain('node_modules');
  expect((await line(['deploy', fresh])).code).toBe(0);
  expect(entries().map(({ path, mode }) => [path, mode])).toEqual([['main.sh', 0o755]]);
});

it('deploys the folder without ignored files, with modes and links, as the same archive each time', async () => {
  await into('mayfly.json', '{"name":"fn","source":"web-1","argv":["./main.sh"],"env":{"A":"1"}}');
  await into('main.sh', '#!/bin/sh\n');
  await chmod(join(folder, 'main.sh'), 0o750);
  await into('.mayflyignore', '.git\n*.log\n!kept.log\n');
  for (const name of ['a.log', 'kept.log']) await into(name, name);
  await mkdir(join(folder, '.git'));
  await into('.git/config', 'x');
  await symlink('main.sh', join(folder, 'link'));
  const { code, out } = await line(['deploy', folder]);
  expect([code, out, asked(server.seen[0] as Seen)]).toEqual([0, 'fn version 3 (new)\n', 'PUT /v1/functions/fn']);
  const { files, ...spec } = sent();
  expect(spec).toEqual({ source: 'web-1', argv: ['./main.sh'], env: { A: '1' } });
  expect(entries().map(({ path, link }) => [path, link])).toEqual([
    ['kept.log', null],
    ['link', 'main.sh'],
    ['main.sh', null],
  ]);
  expect(entries().at(-1)?.mode).toBe(0o750);
  await utimes(join(folder, 'main.sh'), 0, 0);
  server.answers((_request, response) => answerJson(response, 200, functionVersion));
  expect((await line(['deploy', folder])).out).toBe('fn version 3 (unchanged)\n');
  expect(sent().files.tar).toBe(files.tar);
});

it('sends no files for a folder without any', async () => {
  await into('mayfly.json', '{"name":"fn","source":"web-1","command":"date"}');
  await line(['deploy', folder]);
  expect(sent()).toEqual({ source: 'web-1', command: 'date' });
});

it('names the largest files when they exceed the limit together, and sends nothing', async () => {
  await into('mayfly.json', '{"name":"fn"}');
  for (const [name, mib] of [
    ['small', 1],
    ['large', 12],
    ['medium', 5],
  ] as const) {
    await into(name, '');
    await truncate(join(folder, name), mib * 1_048_576);
  }
  const { code, err } = await line(['deploy', folder]);
  expect([code, server.seen]).toEqual([2, []]);
  expect(err).toContain('large (12.0 MiB), medium (5.0 MiB), small (1.0 MiB)');
  expect(err).toContain('.mayflyignore');
});

it.each([
  [null, 'mayfly function init'],
  ['{', 'is not JSON'],
  ['[]', 'no JSON object'],
  ['{"source":"x"}', 'has no "name"'],
  ['{"name":"No Name"}', 'cannot name a function'],
  ['{"name":"fn","files":{}}', 'has "files"'],
])('refuses a mayfly.json that is %s before any request', async (text, why) => {
  if (text !== null) await into('mayfly.json', text);
  const { code, err } = await line(['deploy', folder]);
  expect([code, err, server.seen]).toEqual([2, expect.stringContaining(why), []]);
});

it('names the fields that the API refuses', async () => {
  await into('mayfly.json', '{"name":"fn","sauce":"x"}');
  const errors = [{ field: 'sauce', problem: 'is not known' }];
  const problem = { title: 'x', status: 422, code: 'invalid_request', retryable: false, errors };
  server.answers((_request, response) => answerJson(response, 422, problem));
  const { code, err } = await line(['deploy', folder]);
  expect([code, err]).toEqual([2, expect.stringContaining('sauce: is not known')]);
});

it('lists functions and shows one', async () => {
  server.answers(({ path }, response) => {
    if (path === '/v1/functions/fn') return answerJson(response, 200, deployedFunction);
    answerJson(response, 200, { items: path.endsWith('/versions') ? [functionVersion] : [deployedFunction] });
  });
  expect((await line(['list'])).out).toMatch(/^NAME +STATE +VERSION.*\nfn +active +3 /);
  const { out } = await line(['show', 'fn']);
  for (const said of [
    'active',
    './main.sh',
    'web-1',
    '2 of each /customer, others are skipped',
    'A, B',
    'nothing of what failed',
  ]) {
    expect(out).toContain(said);
  }
  const more = { keep: { onFailure: 'disk', days: 7 }, diff: true, secrets: [{ name: 'token', env: 'TOKEN' }] };
  const traced = { ...functionVersion, spec: { ...functionVersion.spec, ...more } };
  server.answers(({ path }, response) =>
    answerJson(response, 200, path.endsWith('/versions') ? { items: [traced] } : deployedFunction),
  );
  expect((await line(['show', 'fn'])).out).toMatch(
    /secrets +token\n[\s\S]*keeps +the disks of what failed, for 7 d\n.*compares/,
  );
  server.answers(({ path }, response) =>
    answerJson(response, 200, path.endsWith('/versions') ? { items: [functionVersion] } : deployedFunction),
  );
  const shown = JSON.parse((await line(['show', 'fn', '--json'])).out) as unknown;
  expect(shown).toEqual({ ...deployedFunction, versions: [functionVersion] });
});

it.each([
  [['pause', 'fn'], 'POST /v1/functions/fn/pause', 'fn is paused'],
  [['resume', 'fn'], 'POST /v1/functions/fn/resume', 'fn is paused'],
  [['activate', 'fn', '2'], 'POST /v1/functions/fn/versions/2/activate', 'fn version 3 is active'],
  [['delete', 'fn'], 'DELETE /v1/functions/fn', 'fn accepts no events'],
  [['delete', 'fn', '--drain'], 'DELETE /v1/functions/fn?drain=true', 'fn accepts no events'],
])('%j sends its request', async (args, request, said) => {
  const answer = { ...functionVersion, ...deployedFunction, state: 'paused', function: 'fn' };
  server.answers((_request, response) => answerJson(response, 200, answer));
  const { code, out } = await line(args);
  expect([code, out, server.seen.map(asked)]).toEqual([0, expect.stringContaining(said), [request]]);
});

it('confirms a deletion, or names the remedy', async () => {
  server.answers((_request, response) => void response.writeHead(204).end());
  expect((await line(['delete', 'fn'])).out).toBe('fn is deleted\n');
  const inUse = { title: 'x', status: 409, code: 'function_in_use', retryable: false };
  server.answers((_request, response) => answerJson(response, 409, inUse));
  const { code, err } = await line(['delete', 'fn']);
  expect([code, err]).toEqual([1, expect.stringContaining('--drain')]);
});

it.each([
  [['show', 'run-0123456789abcdef'], 'mayfly function run run-0123456789abcdef'],
  [['run', 'fn'], 'mayfly function runs fn'],
  [['cancel', 'fn'], 'mayfly function runs fn'],
  [['activate', 'fn', 'latest'], 'mayfly function get fn'],
  [['pause', 'No Name'], 'mayfly function list'],
  [['logs', 'sbx-0123456789abcdef-x'], 'mayfly function runs'],
])('%j prints what to type, and sends no request', async (args, hint) => {
  const { code, err } = await line(args);
  expect([code, err, server.seen]).toEqual([2, expect.stringContaining(hint), []]);
});
