import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generateReadyScript } from '../../../../model/image/ready.ts';

// Readiness file of a machine, run by a shell as a guest runs it. Five seconds.

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
  writeFileSync(path, generateReadyScript({ command, seconds }, profile), { mode: 0o755 });
  const { status, stdout, stderr } = spawnSync(path, { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

it('succeeds with its command, with ENV, in /, and prints its output', () => {
  const before = left();
  expect(asked('echo "$GREETING"; pwd; exit 0', 1)).toEqual({ status: 0, stdout: "it's me\n/\n", stderr: '' });
  expect(left()).toEqual(before);
});

it('retries until it succeeds', () => {
  const counter = join(folder, 'counter');
  const { status, stdout } = asked(`echo x >>${counter}; n=$(wc -l <${counter}); echo "try $n"; [ "$n" -ge 3 ]`, 60);
  expect([status, stdout]).toEqual([0, 'try 3\n']);
});

it('fails with the exit status and the end of the last output, and leaves no residue', () => {
  const before = left();
  const { status, stderr } = asked("head -c 100000 /dev/zero | tr '\\0' x; echo; echo because >&2; exit 7", 1);
  expect(status).toBe(7);
  expect(stderr).toMatch(/x\nbecause\nit is not ready after 1 seconds: exit status 7\n$/);
  expect(stderr.length).toBeLessThan(5_000);
  expect(left()).toEqual(before);
});

it('does not interpret its command: quotes, lines, text like its own end', () => {
  const hostile = "printf '%s' \"it's $((1 + 1))\"\n# ' ; exit 3\ntrue";
  expect(asked(hostile, 1)).toEqual({ status: 0, stdout: "it's 2", stderr: '' });
});
