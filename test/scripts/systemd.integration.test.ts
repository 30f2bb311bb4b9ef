import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExecError, exec } from '../../host/os/exec.ts';
import { onPath, repository } from '../../worker/config/artifacts.mjs';
import { STOP_MS } from '../../worker/stop-watch.ts';

/** Guards: the units of docs/deploy.md are valid, and grant each process minimal rights. Under a second. */

/** Highest exposure by `systemd-analyze security`, of 10: the host worker makes networks and reads all disks. */
const UNITS = { api: 2.5, control: 2.5, proxy: 2.5, host: 7 } as const;
const NAMES = Object.keys(UNITS) as (keyof typeof UNITS)[];
const pathOf = (name: string) => join(repository, 'deploy/systemd', `mayfly-${name}.service`);

/** Parses section → key → values by systemd.syntax(7). @throws Error for an invalid line */
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

test.each(NAMES)('mayfly-%s.service restarts it, lets it end, and confines it', async (name) => {
  const keys = await unit(name);
  expect(keys.get('Service.ExecStart')).toEqual([`/opt/mayfly/bin/mayfly serve ${name}`]);
  expect(keys.get('Service.Restart')).toEqual(['always']);
  expect(keys.get('Service.EnvironmentFile')).toEqual([`/etc/mayfly/${name}.env`]);
  expect(Number(keys.get('Service.TimeoutStopSec')) * 1_000).toBeGreaterThan(STOP_MS.end);
  // No process calls sd_notify.
  expect(keys.get('Service.Type')).toEqual(['exec']);
  // The host's folders inherit QEMU's group by their setgid bit (docs/decisions/0019-process-rights.md).
  const forbidden = name === 'host' ? [] : ['RestrictSUIDSGID'];
  for (const key of ['NoNewPrivileges', 'ProtectHome', ...forbidden])
    expect(keys.get(`Service.${key}`)).toEqual(['yes']);
  expect(keys.get('Service.ProtectSystem')).toEqual(['strict']);
  const capabilities = keys.get('Service.CapabilityBoundingSet');
  expect(capabilities).toHaveLength(1);
  if (name !== 'host') expect(capabilities).toEqual(['']);
  expect(JSON.stringify([...keys])).not.toMatch(/mongodb:|PASSWORD/);
});

// Without systemd the test above still checks the units.
if (onPath('systemd-analyze') !== null) {
  test.each(NAMES)('systemd accepts mayfly-%s.service', async (name) => {
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-units-'));
    try {
      // The program is not installed here, which doesn't matter.
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
