import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readyFile } from '../../../../model/image/ready.ts';

// The file by which a machine is asked whether it is ready, run by a shell as a guest runs it. Five seconds.

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-ready-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const left = () => readdirSync('/tmp').filter((name) => name.startsWith('mayfly-ready.'));

function asked(command: string, seconds: number) {
  const profile = join(folder, 'profile.sh');
  writeFileSync(profile, "export GREETING='it'\\''s me'\n");
  const path = join(folder, 'ready');
  writeFileSync(path, readyFile({ command, seconds }, profile), { mode: 0o755 });
  const { status, stdout, stderr } = spawnSync(path, { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

it('holds when its command does, with ENV, in /, and says what that wrote', () => {
  const before = left();
  expect(asked('echo "$GREETING"; pwd; exit 0', 1)).toEqual({ status: 0, stdout: "it's me\n/\n", stderr: '' });
  expect(left()).toEqual(before);
});

it('asks again until it holds', () => {
  const counter = join(folder, 'counter');
  const { status, stdout } = asked(`echo x >>${counter}; n=$(wc -l <${counter}); echo "try $n"; [ "$n" -ge 3 ]`, 60);
  expect([status, stdout]).toEqual([0, 'try 3\n']);
});

it('never holds: the exit status and the end of what the last try wrote, and nothing is left', () => {
  const before = left();
  const { status, stderr } = asked("head -c 100000 /dev/zero | tr '\\0' x; echo; echo because >&2; exit 7", 1);
  expect(status).toBe(7);
  expect(stderr).toMatch(/x\nbecause\nit is not ready after 1 seconds: exit status 7\n$/);
  expect(stderr.length).toBeLessThan(5_000);
  expect(left()).toEqual(before);
});

it('is no way to say something else: quotes, lines, what looks like the end of its own', () => {
  const hostile = "printf '%s' \"it's $((1 + 1))\"\n# ' ; exit 3\ntrue";
  expect(asked(hostile, 1)).toEqual({ status: 0, stdout: "it's 2", stderr: '' });
});
