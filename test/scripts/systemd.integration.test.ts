import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExecError, exec } from '../../host/os/exec.ts';
import { onPath, repository } from '../../worker/config/artifacts.mjs';
import { STOP_MS } from '../../worker/stop-watch.ts';

/** Promise: docs/operations.md's units are units, and give each process no more than it needs. Under a second. */

/** The most that `systemd-analyze security` may call its exposure, of 10: the host worker makes networks and reads all disks. */
const UNITS = { api: 2.5, control: 2.5, proxy: 2.5, host: 7 } as const;
const NAMES = Object.keys(UNITS) as (keyof typeof UNITS)[];
const pathOf = (name: string) => join(repository, 'deploy/systemd', `mayfly-${name}.service`);

/** Section → key → values, as systemd.syntax(7) has them. @throws Error for a line that is none of it */
async function unit(name: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  let section = '';
  for (const line of (await readFile(pathOf(name), 'utf8')).split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const header = /^\[(Unit|Service|Install)\]$/.exec(line);
    const [, key = '', value = ''] = /^([A-Z][A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (header) section = header[1] ?? '';
    else if (key && section) found.set(`${section}.${key}`, [...(found.get(`${section}.${key}`) ?? []), value]);
    else throw new Error(`${name}: ${line}`);
  }
  return found;
}

test.each(NAMES)('mayfly-%s.service starts it again, lets it end, and confines it', async (name) => {
  const keys = await unit(name);
  expect(keys.get('Service.ExecStart')).toEqual([`/opt/mayfly/bin/mayfly serve ${name}`]);
  expect(keys.get('Service.Restart')).toEqual(['always']);
  expect(keys.get('Service.EnvironmentFile')).toEqual([`/etc/mayfly/${name}.env`]);
  expect(Number(keys.get('Service.TimeoutStopSec')) * 1_000).toBeGreaterThan(STOP_MS.end);
  // Nothing of ours calls sd_notify.
  expect(keys.get('Service.Type')).toEqual(['exec']);
  // The host's folders pass QEMU's group on by their setgid bit (docs/decisions/0019-process-rights.md).
  const forbidden = name === 'host' ? [] : ['RestrictSUIDSGID'];
  for (const key of ['NoNewPrivileges', 'ProtectHome', ...forbidden])
    expect(keys.get(`Service.${key}`)).toEqual(['yes']);
  expect(keys.get('Service.ProtectSystem')).toEqual(['strict']);
  const capabilities = keys.get('Service.CapabilityBoundingSet');
  expect(capabilities).toHaveLength(1);
  if (name !== 'host') expect(capabilities).toEqual(['']);
  expect(JSON.stringify([...keys])).not.toMatch(/mongodb:|PASSWORD/);
});

// The test above holds the units on a machine without systemd.
if (onPath('systemd-analyze') !== null) {
  test.each(NAMES)('systemd takes mayfly-%s.service', async (name) => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-units-'));
    try {
      // What it starts is not installed here, and it need not be.
      const text = (await readFile(pathOf(name), 'utf8')).replace('/opt/mayfly/bin/mayfly', '/bin/true');
      const path = join(folder, `mayfly-${name}.service`);
      await writeFile(path, text);
      const said = await exec('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', path]).catch(
        (error: unknown) => {
          if (error instanceof ExecError) return error;
          throw error;
        },
      );
      expect(said.stderr.split('\n').filter((line) => line.includes(path))).toEqual([]);
      const { stdout } = await exec('systemd-analyze', ['security', '--offline=true', '--no-pager', path]);
      const [, exposure] = /Overall exposure level for .*: ([\d.]+)/.exec(stdout) ?? [];
      expect(Number(exposure)).toBeLessThanOrEqual(UNITS[name]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}
