import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Diff } from '../../../clients/typescript/http/openapi.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../../model/snapshots/snapshot.ts';
import { useCommandLine } from '../../support/command-line.ts';
import { useOperations } from '../../support/operations.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const operations = useOperations(mayfly);
const { cli, told } = useCommandLine(mayfly);

const sh = (id: string, command: string) => cli('run', id, '--command', command);

test('changes of a sandbox between two snapshots, and since, are listed, shown and archived', async () => {
  const { id } = await told<SandboxRecord>('sandbox', 'create', 'golden-debian12');
  const { out: home } = await sh(id, 'printf %s "$HOME"');
  await sh(id, "cd; printf 'one\\ntwo\\n' > kept; echo gone > gone; chmod 644 kept");
  const one = (await told<SnapshotRecord>('snapshot', 'create', id)).id;
  await sh(id, "cd; printf 'one\\n2\\n' > kept; chmod 600 kept; rm gone; printf x > \"$(printf 'new\\n\\377')\"");
  const two = (await told<SnapshotRecord>('snapshot', 'create', id)).id;

  const listed = await cli('diff', one, two, home);
  expect(listed).toMatchObject({ code: 0, err: '' });
  const lines = listed.out.split('\n').filter((line) => /^[AMDR] /.test(line));
  expect(lines.map((line) => line.replaceAll(home, '~').replace(/ +/g, ' ')).sort()).toEqual([
    'A "~/new\\n\\377" 1 B',
    'D ~/gone -5 B',
    'M ~/kept content -2 B, mode 0644→0600',
  ]);
  expect(listed.out).toMatch(
    /commands in between:\n.*\n +cmd-\S+ +exit 0 .*chmod 600 kept.*\n1 added, 1 changed, 1 removed/,
  );

  const back = await told<Diff>('diff', two, one, `${home}/kept`);
  expect(back).toMatchObject({
    counts: { added: 0, changed: 1, removed: 0 },
    commands: { items: [{}], unknown: null },
  });
  const { out: patch } = await cli('diff', one, two, '--file', `${home}/kept`);
  expect(patch).toBe(`--- a${home}/kept\n+++ b${home}/kept\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n`);
  const { bytes } = await cli('diff', one, two, home, '--tar', '-');
  const names = spawnSync('tar', ['--list', '--quoting-style=escape'], { input: bytes }).stdout.toString();
  expect(
    names
      .trim()
      .split('\n')
      .filter((name) => !name.endsWith('/'))
      .map((name) => name.split('/').at(-1) ?? '')
      .toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(['.wh.gone', 'kept', 'new\\n\\377']);
  expect((await cli('diff', one, two, '--file', `${home}/none`)).code).toBe(3);

  await sh(id, 'cd; echo now > now');
  const since = await told<Diff>('diff', two, 'current', home);
  expect(since.changes.filter(({ type }) => type === 'file')).toMatchObject([{ change: 'added', path: `${home}/now` }]);
  expect(since.after).toMatchObject({ snapshotId: null, sandboxId: id });
  expect((await cli('diff', two, 'current', '--stat')).code).toBe(0);
  // The ephemeral snapshots are deleted eventually.
  await expect
    .poll(async () => (await operations().onHost()).map(({ snapshotId }) => snapshotId).sort())
    .toEqual([one, two].sort());
  const kept = (await cli('snapshot', 'list', id, '--json')).out.trim().split('\n');
  expect(kept.map((line) => (JSON.parse(line) as SnapshotRecord).id)).toEqual([two, one]);
  const kinds = (await operations().told(id)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'snapshot.compared')).toHaveLength(7);

  await told('sandbox', 'destroy', id);
  expect((await cli('diff', two, 'current')).code).toBe(1);
  expect((await cli('diff', one, two, home)).out).toBe(listed.out);
});
