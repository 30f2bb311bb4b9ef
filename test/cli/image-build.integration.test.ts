import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { BuildImage, Image } from '../../clients/typescript/http/openapi.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { failure, image } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { listen } from '../support/listen.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

// `mayfly image build` against a stand-in for the API. Half a second.

const server = useStandIn();
const folder = useFolder();
let file: string;
beforeAll(async () => {
  file = join(folder, 'Dockerfile');
  await writeFile(file, 'FROM debian:12\nRUN true\n');
});

async function build(answer: Image, ...options: string[]) {
  server.answers((request, response) => {
    if (request.path.includes('/commands')) answerJson(response, 404, { code: 'command_not_found' });
    else answerJson(response, request.method === 'POST' ? 202 : 200, answer);
  });
  const ended = await runLine(server, ['image', 'build', '-f', file, '--name', 'web', ...options]);
  return { ...ended, seen: server.seen };
}

it('sends the given options, and prints the result', async () => {
  const { code, out, seen } = await build(
    image,

    '--build-arg',
    'A=b=c',
    '--build-arg',
    'D=',
    '--alias',
    'debian:12=golden-debian12',
    '--network',
    'internet',
    '--target',
    'x',
    '--secret',
    `id=token,src=${file}`,
    '--ready',
    'test -e /x',
    '--ready-seconds',
    '5',
  );
  expect(code).toBe(0);
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
    name: 'web',
    dockerfile: 'FROM debian:12\nRUN true\n',
    args: { A: 'b=c', D: '' },
    aliases: { 'debian:12': 'golden-debian12' },
    secrets: { token: Buffer.from('FROM debian:12\nRUN true\n').toString('base64') },
    network: { egress: 'internet' },
    target: 'x',
    ready: 'test -e /x',
    readySeconds: 5,
  });
  for (const said of ['web', '2 of 2, 1 of them', '["serve"]', 'SPARE']) expect(out).toContain(said);
});

it('reports the ready command, and refuses a timeout without one', async () => {
  const ready = { text: 'ready: true', command: { sandboxId: 'sbx-0123456789abcdef', id: 'cmd-0123456789abcdef' } };
  server.answers((request, response) => {
    const event = `event: ended\ndata: ${JSON.stringify({ outcome: 'exited', exitCode: 0 })}\n\n`;
    if (request.path.endsWith('/events')) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event);
    else if (request.path.includes('/commands/')) answerJson(response, 200, { outcome: 'exited' });
    else answerJson(response, request.method === 'POST' ? 202 : 200, { ...image, steps: [], ready });
  });
  const { code, err } = await runLine(server, ['image', 'build', '-f', file, '--name', 'web', '--ready', 'true']);
  expect([code, err]).toEqual([0, expect.stringMatching(/^ready: true$/m)]);
  const refused = await build(image, '--ready-seconds', '5');
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--ready')]);
});

it('sends a folder without the files of .dockerignore and devices', async () => {
  const from = join(folder, 'context');
  await mkdir(join(from, 'sub'), { recursive: true });
  await writeFile(join(from, '.dockerignore'), '*.log\nsub/*\n!sub/kept\n');
  for (const name of ['a', 'b.log', 'sub/gone', 'sub/kept']) await writeFile(join(from, name), name);
  await symlink('/etc/passwd', join(from, 'link'));
  const { seen } = await build(image, from);
  const { context } = JSON.parse(seen[0]?.body ?? '') as { context: string };
  const sent = tarEntries(Buffer.from(context, 'base64'));
  expect(sent.map(({ path, bytes, link }) => [path, link ?? Buffer.from(bytes).toString()])).toEqual([
    ['.dockerignore', '*.log\nsub/*\n!sub/kept\n'],
    ['a', 'a'],
    ['link', '/etc/passwd'],
    ['sub', ''],
    ['sub/kept', 'sub/kept'],
  ]);
  execFileSync('mkfifo', [join(from, 'pipe')]);
  const refused = await build(image, from);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('pipe')]);
  await rm(join(from, 'pipe'));
});

it('uploads a large folder before the build, unless it exists; refuses one that is too large', async () => {
  const from = join(folder, 'large-context');
  await mkdir(from);
  await writeFile(join(from, 'large'), Buffer.alloc(4_194_305, 'x'));
  const asked = async (isThere: boolean) => {
    server.answers((request, response) => {
      const isContext = request.path.startsWith('/v1/image-contexts/');
      if (isContext && request.method === 'GET' && !isThere) answerJson(response, 404, { code: 'context_not_found' });
      else answerJson(response, request.method === 'POST' ? 202 : 200, isContext ? {} : { ...image, steps: [] });
    });
    const { code } = await runLine(server, ['image', 'build', '-f', file, '--name', 'web', from]);
    expect(code).toBe(0);
    return server.seen.map(({ method, path, body }) => ({ method, path, body }));
  };
  const [looked, sent, begun] = await asked(false);
  const digest = createHash('sha256')
    .update(sent?.body ?? '')
    .digest('hex');
  expect([looked?.path, sent?.method, sent?.path]).toEqual([
    `/v1/image-contexts/${digest}`,
    'PUT',
    `/v1/image-contexts/${digest}`,
  ]);
  const { contextDigest, context } = JSON.parse(begun?.body ?? '') as BuildImage;
  expect([contextDigest, context]).toEqual([digest, undefined]);
  expect(tarEntries(Buffer.from(sent?.body ?? '')).map(({ path, bytes }) => [path, bytes.length])).toEqual([
    ['large', 4_194_305],
  ]);
  expect((await asked(true)).map(({ method }) => method)).toEqual(['GET', 'POST']);
  await truncate(join(from, 'large'), 2_147_483_648);
  expect((await build(image, from)).err).toContain('more than 2147483648 bytes');
});

it('Ctrl-C during the upload: 130, and no build is requested', async () => {
  const from = join(folder, 'never-sent');
  await mkdir(from);
  await writeFile(join(from, 'large'), Buffer.alloc(20_000_000, 'x'));
  const asked: string[] = [];
  const controller = new AbortController();
  const slow = createServer((request, response) => {
    asked.push(`${request.method}`);
    if (request.method === 'GET') answerJson(response, 404, { code: 'context_not_found' });
    else controller.abort(); // never reads the body
  });
  const url = `http://127.0.0.1:${await listen(slow)}`;
  const { code } = await runLine({ url }, ['image', 'build', '-f', file, '--name', 'web', from], { controller });
  expect([code, asked]).toEqual([130, ['GET', 'PUT']]);
  slow.closeAllConnections();
  slow.close();
});

it('Ctrl-C during the build: 130, and it is cancelled and reported', async () => {
  const controller = new AbortController();
  const under = { ...image, state: 'building', steps: [] } as const;
  server.answers((request, response) => {
    if (request.method === 'GET') controller.abort();
    answerJson(response, request.method === 'POST' ? 202 : 200, under);
  });
  const line = ['image', 'build', '-f', file, '--name', 'web'];
  const { code, err } = await runLine(server, line, { controller });
  expect([code, server.seen.at(-1)?.path]).toEqual([130, `/v1/images/${image.id}/cancel`]);
  expect(err).toContain(`${image.id} is undone`);
});

it('ends with 1 after a failure, and shows the log without escapes', async () => {
  const { code, out } = await build({ ...image, state: 'failed', failure });
  expect(code).toBe(1);
  expect(out).toContain('exit code 3');
  expect(out).toContain('why');
  expect(out).not.toContain('\u001b');
});

it.each([
  [['--build-arg', 'x'], 'NAME=value'],
  [['--network', 'host'], 'none or internet'],
  [['--secret', 'src=x'], 'id=name'],
  [['--secret', 'id=x,src=/none'], 'there is no file'],
  [['--secret', 'id=x,env=MAYFLY_NONE'], 'MAYFLY_NONE is not set'],
  [['--wat'], '--wat'],
])('refuses %j', async (options, said) => {
  const { code, err } = await build(image, ...options);
  expect(code).toBe(2);
  expect(err).toContain(said);
});

it('reports a missing file', async () => {
  const { code, err } = await runLine(server, ['image', 'build', '-f', join(folder, 'none'), '--name', 'web']);
  expect(code).toBe(2);
  expect(err).toContain('there is no file');
  const noFolder = await runLine(server, ['image', 'build', '-f', file, join(folder, 'none'), '--name', 'web']);
  expect([noFolder.code, noFolder.err]).toEqual([2, expect.stringContaining('none is no folder')]);
});
