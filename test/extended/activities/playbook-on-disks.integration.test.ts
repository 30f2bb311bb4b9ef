import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { changeOnHost } from '../../../activities/playbook/change-on-host.ts';
import { compareOnHost } from '../../../activities/playbook/tried-on-host.ts';
import { buildArchivePart, finishArchive, listPlaybookFiles } from '../../../model/playbook/archive.ts';
import { CHECK_ARGV, CHECK_FOLDER, checkFiles, parseRuns } from '../../../model/playbook/check-program.ts';
import type { CheckOutcome } from '../../../model/playbook/compare-check.ts';
import { type WrittenPlaybook, writePlaybook } from '../../../model/playbook/write-playbook.ts';
import { readyAnsibleTools } from '../../../scripts/setup/python/ansible-tools.mjs';
import { ansibleArchive, goldenImage } from '../../../worker/config/artifacts.mjs';
import { type Ended, GuestDisks } from '../../support/guest-disks.ts';
import { BASE, CHANGES, DEB, LEFT, SECRETS } from '../../support/playbook-changes.ts';
import { useFolder } from '../../support/use-folder.ts';

/**
 * Playbooks of the golden image's own file system, which no machine boots: with its dpkg, apt, useradd and systemctl,
 * and real Ansible, in seconds. Units are only files here; worker/playbook.e2e tests them with systemd.
 */
const archive = ansibleArchive();
const tools = readyAnsibleTools();
const canMount = process.getuid?.() === 0 && goldenImage() !== null;
const run = promisify(execFile);
const context = { signal: new AbortController().signal, alive: () => undefined };

let disks: GuestDisks;
const folder = useFolder();
beforeAll(async () => {
  if (canMount) disks = await GuestDisks.make(folder);
});

async function changed(disk: string, command: string): Promise<void> {
  const { code, stdout, stderr } = await disks.run(disk, ['bash', '-c', `set -e; ${command}`]);
  expect({ command, code, said: code === 0 ? '' : `${stdout}\n${stderr}` }).toEqual({ command, code: 0, said: '' });
}

async function writtenOf(before: string, after: string): Promise<WrittenPlaybook> {
  const change = await changeOnHost(disks.snapshots, { before, after }, context);
  const commands = ['echo {{ x }}', 'a\nb'];
  return writePlaybook({ ...change, sandboxId: 'sbx-0123456789abcdef', base: 'golden-debian12', commands });
}

/** Runs a playbook in a disk. @param ansible an archive as set-up makes it */
async function tried({ text, files, variables }: WrittenPlaybook, disk: string, ansible: string): Promise<Ended> {
  const playbook = Buffer.concat(
    finishArchive([
      buildArchivePart(listPlaybookFiles({ text, files, variables })),
      buildArchivePart(checkFiles(variables)),
    ]),
  );
  await disks.run(disk, ['sh', '-c', `mkdir -p ${CHECK_FOLDER} && tar -x -C ${CHECK_FOLDER}`], playbook);
  await disks.run(disk, ['sh', '-c', `cat > ${CHECK_FOLDER}/ansible.tar.gz`], createReadStream(ansible));
  return disks.run(disk, CHECK_ARGV);
}

/**
 * Packs the archive of set-up with the Ansible of the tools instead of its own; dependencies of the apt module stay.
 */
async function laterArchive(python: string): Promise<string> {
  const own = join(folder, 'later');
  await mkdir(own);
  await run('tar', ['-xzf', archive?.archive ?? '', '-C', own]);
  const into = join(own, 'ansible', 'usr', 'lib', 'python3', 'dist-packages');
  for (const name of await readdir(into))
    if (/^(?:ansible|jinja2|yaml|markupsafe|packaging|resolvelib)/i.test(name))
      await rm(join(into, name), { recursive: true });
  const [version = ''] = await readdir(join(dirname(dirname(python)), 'lib'));
  await cp(join(dirname(dirname(python)), 'lib', version, 'site-packages'), into, { recursive: true });
  const packed = join(folder, 'later.tar.gz');
  await run('tar', ['-czf', packed, '-C', own, 'ansible']);
  return packed;
}

// Promise: ten kinds of change are reproduced, by the oldest and the latest Ansible, all others are reported, and
// ansible-lint finds nothing. Costs two minutes.
describe.skipIf(!canMount || archive === null)('of ten kinds of change', { tags: ['tool'] }, () => {
  let written: WrittenPlaybook;
  beforeAll(async () => {
    await disks.copy('golden', 'before');
    await changed('before', BASE);
    await disks.copy('before', 'after');
    for (const command of Object.values(CHANGES)) await changed('after', command);
    written = await writtenOf('before', 'after');
  }, 600_000);

  async function outcomeOn(disk: string, ansible: string): Promise<CheckOutcome> {
    await disks.copy('before', disk);
    const { stdout, stderr } = await tried(written, disk, ansible);
    const runs = parseRuns(stdout);
    expect(runs, stderr.slice(-2_000)).toMatchObject([
      { failed: 0, message: null },
      { changed: 0, failed: 0 },
    ]);
    return compareOnHost(disks.snapshots, { fresh: 'before', now: 'after', applied: disk }, written, context);
  }

  function refuseUnlessWhole({ broughtAbout, paths, left, beyond }: CheckOutcome): void {
    const named = left.map(({ path }) => (typeof path === 'string' ? path : '"/srv/b\\377d"'));
    expect([...new Set(named)].sort()).toEqual([...LEFT, '/var/lib/dpkg/status'].sort());
    expect({ beyond, paths }).toEqual({ beyond: [], paths: broughtAbout + LEFT.length });
    expect(broughtAbout / paths).toBeGreaterThanOrEqual(0.95);
  }

  it('with the Ansible that guests get', async () => {
    refuseUnlessWhole(await outcomeOn('applied', archive?.archive ?? ''));
  }, 600_000);

  it.skipIf(tools === null)(
    'with ansible-core 2.19',
    async () => {
      refuseUnlessWhole(await outcomeOn('later', await laterArchive(tools ?? '')));
    },
    600_000,
  );

  it.skipIf(tools === null)(
    'and ansible-lint finds nothing in it',
    async () => {
      const at = join(folder, 'lint');
      await mkdir(join(at, 'files'), { recursive: true });
      for (const { name, bytes } of listPlaybookFiles(written)) await writeFile(join(at, name), bytes);
      const lint = ['-m', 'ansiblelint', '--offline', '--strict', '--nocolor', '-p', 'playbook.yml'];
      const PATH = `${dirname(tools ?? '')}:${process.env['PATH'] ?? ''}`;
      const env = { PATH, HOME: at, ANSIBLE_HOME: join(at, 'home'), LC_ALL: 'C.UTF-8' };
      const said = await run(tools ?? '', lint, { cwd: at, env }).catch((error: { stdout: string }) => error);
      expect(said.stdout).toBe('');
    },
    600_000,
  );

  it('contains no secret', () => {
    const all = listPlaybookFiles(written).map(({ bytes }) => Buffer.from(bytes).toString('latin1'));
    for (const secret of SECRETS) expect(all.join('\n')).not.toMatch(secret);
  });
});

describe.skipIf(!canMount || archive === null)('of a package without a repository', { tags: ['tool'] }, () => {
  it('fails at its installation, and names it (case 4)', async () => {
    await disks.copy('golden', 'lonely');
    await changed(
      'lonely',
      `${DEB} mkdir -p /srv; deb lonely '' /srv; rm -r /srv/build; dpkg -i /srv/lonely.deb; rm /srv/lonely.deb`,
    );
    const written = await writtenOf('golden', 'lonely');
    expect(written.packages).toEqual([{ name: 'lonely', version: '1.0', change: 'installed' }]);
    await disks.copy('golden', 'cut');
    const { stdout } = await tried(written, 'cut', archive?.archive ?? '');
    expect(parseRuns(stdout)).toMatchObject([{ failed: 1, message: expect.stringContaining('Install a package') }]);
  }, 600_000);
});
