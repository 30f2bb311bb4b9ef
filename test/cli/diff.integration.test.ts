import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileChange } from '../../model/files/file-change.ts';
import { ID, SNAPSHOT } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { fileChange } from '../support/compared-snapshots.ts';
import { useFolder } from '../support/use-folder.ts';
import { runLine } from './run-line.ts';

const OTHER = 'snp-00000000000000aa';
const URL_PATH = `/v1/snapshots/${SNAPSHOT}/diff`;
const server = useStandIn();
const folder = useFolder();

interface Answer {
  status?: number;
  type?: string;
  body: string | Buffer;
  /** Breaks the connection after the body. */
  breaks?: boolean;
}

async function cli(
  args: string[],
  { status = 200, type = 'application/x-ndjson', body, breaks }: Answer,
  isTTY = false,
) {
  server.answers((_request, response) => {
    response.writeHead(status, { 'content-type': type });
    if (breaks) response.write(body, () => response.destroy());
    else response.end(body);
  });
  return { ...(await runLine(server, args, { isTTY })), asked: server.seen[0]?.path };
}

const state = (snapshotId: string | null, savedAt: string) => ({ snapshotId, sandboxId: ID, savedAt });
const ran = {
  id: 'cmd-0123456789abcdef',
  sandboxId: ID,
  command: 'apt-get install \u001b]0;x\u0007nginx',
  argv: null,
  state: 'ended',
  outcome: 'exited',
  exitCode: 0,
  signal: null,
  startedAt: '2026-11-21T10:02:01.000Z',
  endedAt: '2026-11-21T10:02:13.400Z',
};
const start = {
  line: 'start',
  before: state(SNAPSHOT, '2026-11-21T10:02:00.000Z'),
  after: state(null, '2026-11-21T10:03:00.000Z'),
  commands: { items: [ran], isCut: false, unknown: null },
};

function lines(changes: FileChange[], last?: object): string {
  const count = (wanted: string) => changes.filter(({ change }) => change === wanted).length;
  const [added, changed] = [count('added'), count('changed')];
  const end = { line: 'end', added, changed, removed: count('removed'), renamed: count('renamed') };
  const all = [start, ...changes.map((change) => ({ line: 'change', ...change })), last ?? end];
  return all.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns the change of an existing path. */
function changed(
  path: FileChange['path'],
  was: Partial<FileChange>,
  is: Partial<FileChange> & Pick<FileChange, 'what'>,
) {
  const { change: _change, path: _path, from: _from, what: _what, before: _before, ...before } = fileChange(path, was);
  return fileChange(path, { change: 'changed', before, ...was, ...is });
}

const CHANGES: FileChange[] = [
  fileChange('/etc/nginx/nginx.conf', { size: 1_536 }),
  fileChange('/etc/nginx', { type: 'directory', size: null }),
  fileChange('/etc/nginx/on', { type: 'symlink', size: null, target: '/etc/\u001b[2J' }),
  fileChange('/dev/x', { type: 'char-device', size: null, device: [1, 3] }),
  changed('/etc/hosts', { size: 100 }, { size: 12_388, what: ['content', 'mode', 'mtime'], mode: '0600' }),
  changed('/etc/passwd', { uid: 0, gid: 0 }, { what: ['owner', 'xattrs'], uid: 1_000, gid: 42 }),
  changed('/etc/touched', {}, { what: ['mtime'] }),
  changed('/etc', { type: 'directory', size: null }, { what: ['mtime'] }),
  changed('/etc/link', { type: 'symlink', size: null, target: 'a' }, { what: ['target'], target: 'b' }),
  fileChange('/var/tmp/x', { change: 'removed', size: 2_048 }),
  changed('/home/new', { size: 10 }, { change: 'renamed', from: '/home/old', what: ['content'], size: 10 }),
  fileChange('/tmp/\u202egnp.\n', { size: 0 }),
  fileChange({ base64: Buffer.from('/tmp/\xff"', 'latin1').toString('base64') }, { size: 0 }),
];

describe('mayfly diff', () => {
  it('prints one line per change, aligned and escaped, then the commands and the counts', async () => {
    const { code, out, asked } = await cli(['diff', SNAPSHOT, 'current', '/etc', '/ä b'], { body: lines(CHANGES) });
    expect([code, asked]).toEqual([0, `${URL_PATH}/current?path=/etc&path=/%C3%A4%20b&format=ndjson`]);
    expect(out).toBe(
      [
        `from ${SNAPSHOT}, 2026-11-21T10:02:00.000Z`,
        `to   what ${ID} holds now, 2026-11-21T10:03:00.000Z`,
        'A  /etc/nginx/nginx.conf      1.5 KiB',
        'A  /etc/nginx/',
        'A  /etc/nginx/on              symlink to "/etc/\\033[2J"',
        'A  /dev/x                     device 1:3',
        'M  /etc/hosts                 content +12.0 KiB, mode 0644→0600',
        'M  /etc/passwd                owner 0:0→1000:42, attributes',
        'M  /etc/touched               time',
        'M  /etc/link                  target a→b',
        'D  /var/tmp/x                 -2.0 KiB',
        'R  /home/old → /home/new      content of the same size',
        'A  "/tmp/\\342\\200\\256gnp.\\n"  0 B',
        'A  "/tmp/\\377\\""              0 B',
        '1 folder is left out, of which only the time changed',
        'commands in between:',
        '  COMMAND               ENDED   TOOK    LINE',
        '  cmd-0123456789abcdef  exit 0  12.4 s  apt-get install \ufffd]0;x\ufffdnginx',
        '6 added, 5 changed, 1 removed, 1 renamed, +11.5 KiB',
        '',
      ].join('\n'),
    );
  });

  it('has colours on a terminal only', async () => {
    const { out } = await cli(['diff', SNAPSHOT, OTHER], { body: lines(CHANGES.slice(0, 1)) }, true);
    expect(out).toContain('\u001b[32mA\u001b[39m  /etc/nginx/nginx.conf');
  });

  it('prints zero counts when nothing differs, and still ends with 0', async () => {
    const { code, out } = await cli(['diff', SNAPSHOT, OTHER], { body: lines([]) });
    expect([code, out.split('\n').at(-2)]).toEqual([0, '0 added, 0 changed, 0 removed, 0 renamed']);
  });

  it('sums up by folder with --stat', async () => {
    const { out } = await cli(['diff', SNAPSHOT, OTHER, '--stat'], { body: lines(CHANGES) });
    expect(out.split('\n').slice(2, 9)).toEqual([
      'FOLDER      ADDED  CHANGED  REMOVED  RENAMED  SIZE',
      '"/tmp       2      -        -        -        -',
      '/dev        1      -        -        -        -',
      '/etc        1      4        -        -        +12.0 KiB',
      '/etc/nginx  2      -        -        -        +1.5 KiB',
      '/home       -      -        -        1        -',
      '/var/tmp    -      -        1        -        -2.0 KiB',
    ]);
  });

  it('prints one JSON document', async () => {
    const answer = { changes: [fileChange('/\u0085')], counts: {} };
    const { out, asked } = await cli(['diff', SNAPSHOT, OTHER, '--json'], { body: JSON.stringify(answer) });
    expect([JSON.parse(out), asked]).toEqual([answer, `${URL_PATH}/${OTHER}?limit=10000`]);
    expect(out).not.toContain('\u0085');
  });

  it('prints the received part of a broken answer, and fails', async () => {
    const problem = {
      code: 'diff_failed',
      status: 422,
      title: 'The file systems cannot be compared',
      detail: 'a loop',
    };
    const told = await cli(['diff', SNAPSHOT, OTHER], { body: lines(CHANGES.slice(0, 1), { line: 'error', problem }) });
    expect([told.code, told.err.includes('a loop'), told.out.includes('nginx.conf')]).toEqual([2, true, true]);
    const cut = await cli(['diff', SNAPSHOT, OTHER], { body: lines(CHANGES).split('\n').slice(0, 2).join('\n') });
    expect([cut.code, cut.out.includes('added,')]).toEqual([5, false]);
    const broken = await cli(['diff', SNAPSHOT, OTHER], { body: lines(CHANGES), breaks: true });
    expect(broken.code).toBe(5);
  });

  it('prints the reason of a refusal', async () => {
    const problem = { code: 'sandbox_busy', status: 409, title: 'Busy', detail: 'no' };
    server.answers((_request, response) => answerJson(response, 409, problem));
    const { code, err } = await cli(['diff', SNAPSHOT, OTHER], { status: 409, body: JSON.stringify(problem) });
    expect([code, err.includes('no')]).toEqual([1, true]);
  });
});

describe('mayfly diff --file', () => {
  const patch = '--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-\ta\n+\tb\u001b[2J\n';
  const file = (changes: object = {}) =>
    JSON.stringify({
      path: '/etc/x',
      before: { size: 2 },
      after: { size: 2_048 },
      kind: 'text',
      diff: patch,
      ...changes,
    });
  const args = ['diff', SNAPSHOT, OTHER, '--file', '/etc/x'];

  it('is a patch, byte for byte, and escaped and coloured on a terminal', async () => {
    const { out, asked } = await cli(args, { body: file() });
    expect([out, asked]).toEqual([patch, `${URL_PATH}/${OTHER}?file=/etc/x`]);
    const seen = (await cli(args, { body: file() }, true)).out;
    expect(seen).toContain('\u001b[31m-        a\u001b[39m\n\u001b[32m+        b\ufffd[2J\u001b[39m\n');
  });

  it.each([
    [{ kind: 'binary', diff: null }, '/etc/x is not text: 2 B → 2.0 KiB\n'],
    [{ kind: 'same', diff: null, after: { size: 2 } }, '/etc/x is the same in both: 2 B → 2 B\n'],
    [{ kind: 'too-large', before: null, diff: null }, '/etc/x is too large to be compared as text: absent → 2.0 KiB\n'],
  ])('of %j prints the reason there is none', async (changes, text) => {
    expect((await cli(args, { body: file(changes) })).out).toBe(text);
  });
});

describe('mayfly diff --tar', () => {
  const body = Buffer.alloc(100_000, 0xff);
  const answer = { type: 'application/x-tar', body };

  it('writes a file, or to standard output', async () => {
    const target = join(folder, 'changes.tar');
    const { code, asked } = await cli(['diff', SNAPSHOT, 'current', '/home', '--tar', target], answer);
    expect([code, asked]).toEqual([0, `${URL_PATH}/current?path=/home&format=tar`]);
    expect((await readFile(target)).equals(body)).toBe(true);
    expect(Buffer.from((await cli(['diff', SNAPSHOT, OTHER, '--tar', '-'], answer)).out)).toHaveLength(300_000);
  });

  it('leaves no file behind when the archive is incomplete', async () => {
    const { code } = await cli(['diff', SNAPSHOT, OTHER, '--tar', join(folder, 'broken.tar')], {
      ...answer,
      breaks: true,
    });
    expect([code, (await readdir(folder)).filter((name) => name !== 'changes.tar')]).toEqual([5, []]);
  });
});

it.each([
  ['diff', SNAPSHOT],
  ['diff', SNAPSHOT, 'no w'],
  ['diff', 'current', SNAPSHOT],
  ['diff', ID, SNAPSHOT],
  ['diff', SNAPSHOT, OTHER, 'etc'],
  ['diff', SNAPSHOT, OTHER, '--file', 'etc'],
  ['diff', SNAPSHOT, OTHER, '/etc', '--file', '/etc/x'],
  ['diff', SNAPSHOT, OTHER, '--stat', '--tar', '-'],
  ['diff', SNAPSHOT, OTHER, '--json', '--stat'],
  ['diff', SNAPSHOT, OTHER, '--since', 'x'],
])('refuses %s %s %s %s %s %s', async (...args) => {
  expect((await cli(args.filter(Boolean), { body: '' })).code).toBe(2);
  expect(server.seen).toEqual([]);
});
