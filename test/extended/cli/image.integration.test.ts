import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runCli } from '../../../cli/main.ts';
import { Io } from '../../../cli/terminal/io.ts';
import { entriesOf } from '../../../host/os/directory.ts';
import { cacheDir, guestCachePath, imageCachePath } from '../../../worker/config/artifacts.mjs';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

// Promise: a build that is interrupted or fails leaves no residue, and reports a remedy. Runs images/build.sh itself,
// in a cache of the test's own, with a stand-in for mmdebstrap. Costs 2 s.
const folder = useFolder();
beforeEach(async () => {
  const guest = dirname(guestCachePath());
  await mkdir(join(folder, 'mayfly'));
  await symlink(guest, join(folder, 'mayfly', 'guest'));
  vi.stubEnv('XDG_CACHE_HOME', folder);
  vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
});

const mmdebstrap = (script: string) => writeFile(join(folder, 'mmdebstrap'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

/** Starts a pull; returns its exit code, its output, and a function that presses Ctrl-C. */
function pull() {
  const controller = new AbortController();
  const said: string[] = [];
  const sink = { write: (text: string | Uint8Array) => said.push(Buffer.from(text).toString()) };
  const env = { MAYFLY_STATE_DIR: join(folder, 'state'), MAYFLY_LIBVIRT_URI: 'private' };
  const { signal } = controller;
  const code = runCli(['image', 'pull', 'agent'], new Io({ stdout: sink, stderr: sink, env, signal, force: signal }));
  return { code, said: () => said.join(''), interrupt: () => controller.abort(new Error('interrupted')) };
}

/** Returns the residue of builds: cached files, processes, state folder. */
async function left() {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return {
    cached: await readdir(dirname(imageCachePath('golden-agent'))),
    processes: lines.filter((line) => line.includes(`${folder}/mayfly`)),
    state: await entriesOf(join(folder, 'state')),
  };
}
const NOTHING = { cached: ['.lock'], processes: [], state: null };

test('Ctrl-C ends all of a build; a second pull reports that it waits, and can be interrupted too', async () => {
  await mmdebstrap(`mkdir -p "$(dirname "$0")/begun"; exec sleep infinity`);
  const first = pull();
  await eventually(async () => existsSync(join(folder, 'begun')), Boolean);
  expect((await left()).processes).not.toEqual([]);
  const second = pull();
  await eventually(async () => second.said(), /waiting for another/);
  second.interrupt();
  expect(await second.code).toBe(130);
  first.interrupt();
  expect(await first.code).toBe(130);
  expect(first.said()).toContain('installing packages');
  expect(await left()).toEqual(NOTHING);
});

test('an unreachable mirror is reported', async () => {
  const error = "E: Failed to fetch http://deb.example/InRelease  Temporary failure resolving 'deb.example'";
  await mmdebstrap(`echo "${error}" >&2; echo 'E: mmdebstrap failed to run' >&2; exit 25`);
  const failed = pull();
  expect(await failed.code).toBe(5);
  expect(failed.said()).toContain(`why:  ${error}`);
  expect(failed.said()).toContain('apt-get update');
  expect(await left()).toEqual(NOTHING);
});

test('any other failure of a build is reported with its last output', async () => {
  await mmdebstrap("echo 'tar: write error: No space left on device' >&2; exit 2");
  const failed = pull();
  expect(await failed.code).toBe(1);
  expect(failed.said()).toContain('No space left on device');
  expect(await left()).toEqual(NOTHING);
});

test('without the agent for guests no build starts', async () => {
  await rm(join(folder, 'mayfly', 'guest'));
  const failed = pull();
  expect(await failed.code).toBe(1);
  expect(failed.said()).toContain('npm run setup');
  expect(existsSync(join(cacheDir(), 'images'))).toBe(false);
});
