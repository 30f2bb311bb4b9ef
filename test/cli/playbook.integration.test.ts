import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Playbook } from '../../clients/typescript/http/openapi.ts';
import { buildArchivePart, finishArchive } from '../../model/playbook/archive.ts';
import { answerOf } from '../clients/typescript/records.ts';
import { answerJson, type Seen, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFolder } from '../support/use-folder.ts';
import { type LineOptions, runLine } from './run-line.ts';

// `mayfly playbook` against a stand-in for the API: its requests, output, files and exit codes. Two seconds.

const server = useStandIn();
const folder = useFolder();

const ID = 'pbk-0123456789abcdef';
const left = [{ path: '/srv/\u001b[2Jpipe', why: 'it is a pipe' }];
const diffing = answerOf<Playbook>('getPlaybook', {
  id: ID,
  state: 'diffing',
  written: null,
  unchecked: null,
  endedAt: null,
});
const written = {
  tasks: 3,
  paths: 4,
  noise: 9,
  packages: [{ name: 'nginx', version: '1', change: 'installed' as const }],
  packageCount: 1,
  variables: [{ name: 'mayfly_password_ann', of: 'ann', kind: 'password hash' as const }],
  left,
  leftCount: 1,
};
const runs = [3, 0].map((changed) => ({ changed, failed: 0, message: null }));
const check = { ansible: '2.14', runs, broughtAbout: 3, paths: 4, left, leftCount: 1, beyond: [], beyondCount: 0 };
const checked: Playbook = { ...diffing, state: 'checked', written, check, endedAt: diffing.updatedAt };

const FILES = [
  { name: 'playbook.yml', bytes: Buffer.from('---\n') },
  { name: 'files/0001', bytes: Buffer.from([0, 255]) },
];

/** Answers with these states. @param states one per poll, the last repeats */
function answering(states: readonly Playbook[], files = FILES): void {
  let looks = 0;
  server.answers(({ method, path }, response) => {
    if (path.endsWith('/archive')) response.writeHead(200).end(Buffer.concat(finishArchive([buildArchivePart(files)])));
    else if (method === 'POST') answerJson(response, 202, diffing);
    else answerJson(response, 200, states[Math.min(looks++, states.length - 1)] ?? checked);
  });
}

const playbook = (args: string[], options?: LineOptions) => runLine(server, ['playbook', ...args], options);
const asked = ({ method, path }: Seen) => `${method} ${path}`;

it('starts a playbook, prints each state once, and the result', async () => {
  answering([diffing, { ...diffing, state: 'writing' }, { ...diffing, state: 'checking' }, checked]);
  const { code, out, err } = await playbook(['web', '--network', 'none', '--from', 'snp-0123456789abcdef']);
  expect(code).toBe(0);
  expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/v1/sandboxes/web/playbook' });
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({
    from: 'snp-0123456789abcdef',
    network: { egress: 'none' },
  });
  for (const doing of ['comparing', 'writing', 'trying']) expect(err.split(doing).length).toBe(2);
  for (const said of [
    '3 of 4 paths',
    'run again, it changes 0',
    'nginx installed',
    'mayfly_password_ann',
    'it is a pipe',
  ])
    expect(out).toContain(said);
  expect(out).not.toContain('\u001b');
});

it('writes a new folder, an archive, or standard output; never overwrites', async () => {
  answering([checked]);
  const [into, tar] = [join(folder, 'web'), join(folder, 'web.tar')];
  expect((await playbook(['web', '-o', into])).code).toBe(0);
  expect(await readdir(into)).toEqual(['files', 'playbook.yml']);
  expect([...(await readFile(join(into, 'files/0001')))]).toEqual([0, 255]);
  expect((await playbook(['web', '-o', tar])).code).toBe(0);
  const whole = await readFile(tar);
  const out = await playbook(['web', '-o', '-']);
  expect([out.bytes.equals(whole), out.err.includes('3 of 4 paths')]).toEqual([true, true]);
  for (const taken of [into, tar]) {
    answering([checked]);
    const refused = await playbook(['web', '-o', taken]);
    expect([refused.code, refused.err, server.seen]).toEqual([2, expect.stringContaining('is there already'), []]);
  }
});

it.each(['../x', '/etc/x', 'files/../../x', 'files/0001/x'])('writes no file named %s', async (name) => {
  answering([checked], [{ name, bytes: Buffer.from('x') }]);
  const into = join(folder, 'hostile');
  expect((await playbook(['web', '-o', into])).code).not.toBe(0);
  expect(await readdir(into)).toEqual([]);
  await rm(into, { recursive: true });
});

it('ends with 0 when it could not be checked, with the reason; with 1 when it failed', async () => {
  answering([{ ...diffing, state: 'unchecked', written, unchecked: 'no network' }]);
  const unchecked = await playbook(['web']);
  expect([unchecked.code, unchecked.out]).toEqual([0, expect.stringContaining('no network')]);
  answering([{ ...diffing, state: 'failed', failure: { code: 'playbook_failed', message: 'too much' } }]);
  const failed = await playbook(['web', '-o', join(folder, 'none')]);
  expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('too much')]);
  expect(await readdir(folder)).not.toContain('none');
});

it('on Ctrl-C cancels a playbook it started, and leaves one it follows', async () => {
  for (const [of, told, isCancelled] of [
    ['web', 'is undone', true],
    [ID, `goes on: mayfly playbook ${ID}`, false],
  ] as const) {
    const controller = new AbortController();
    answering([diffing]);
    const ended = playbook([of], { controller });
    const looks = () => server.seen.filter((seen) => asked(seen) === `GET /v1/playbooks/${ID}`).length;
    while (looks() < 2) await new Promise(setImmediate);
    controller.abort(new Error('interrupted'));
    const { code, err } = await ended;
    expect([code, err]).toEqual([130, expect.stringContaining(told)]);
    expect(server.seen.map(asked).includes(`POST /v1/playbooks/${ID}/cancel`)).toBe(isCancelled);
  }
});

it('prints how to resume after a timeout, and resumes by the id', async () => {
  answering([diffing]);
  const late = await playbook(['web', '--wait', '0']);
  expect([late.code, late.err]).toEqual([124, expect.stringContaining(`mayfly playbook ${ID}`)]);
  answering([checked]);
  const { code, out } = await playbook([ID, '--json']);
  expect([code, JSON.parse(out).state, server.seen.map(asked)]).toEqual([0, 'checked', [`GET /v1/playbooks/${ID}`]]);
});

it.each([
  [['web', '--network', 'all'], '--network must be'],
  [['web', '--from', 'x/y/z'], 'snapshot'],
  [['No Name'], 'neither the id nor the name'],
  [[ID, '--from', 'snp-0123456789abcdef'], '--from and --network'],
  [['web', '--json', '-o', '-'], 'exclude each other'],
  [['web', '--wait', 'long'], '--wait'],
])('refuses %j before any request', async (args, why) => {
  answering([checked]);
  const { code, err } = await playbook(args);
  expect([code, err, server.seen]).toEqual([2, expect.stringContaining(why), []]);
});

it('prints the remedy when the API refuses', async () => {
  server.answers((_request, response) =>
    answerJson(response, 404, { type: '', title: 'x', status: 404, code: 'sandbox_not_found', retryable: false }),
  );
  const { code, err } = await playbook(['web']);
  expect([code, err]).toEqual([3, expect.stringContaining('mayfly sandbox list --all')]);
});
