import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NO_SETTINGS } from '../../../model/dockerfile/plan.ts';
import { generateUnit, UNIT } from '../../../model/image/unit.ts';

// Guards: the unit of CMD and ENTRYPOINT. A second, where systemd can verify it.

it('the unit runs CMD and ENTRYPOINT, quoted for systemd', () => {
  const hostile = ['serve', 'a b', '$HOME "q" \\ 100%', 'x\n[Service]\nUser=root'];
  const env = { ...NO_SETTINGS.env, GREETING: 'it\'s "50%" $x' };
  const unit = generateUnit({
    ...NO_SETTINGS,
    env,
    user: 'app',
    workdir: '/srv/a b',
    entrypoint: ['/bin/run'],
    cmd: hostile,
  });
  expect(unit).toContain('User=app\nWorkingDirectory=/srv/a b/.\n');
  expect(unit).toContain('Environment="GREETING=it\'s \\"50%%\\" $x"\n');
  expect(unit).toContain(
    'ExecStart=/usr/bin/env -- "/bin/run" "serve" "a b" "$$HOME \\"q\\" \\\\ 100%%" "x\\x0a[Service]\\x0aUser=root"\n',
  );
  expect(unit?.match(/^User=/gm)).toHaveLength(1);
});

it.each(['/srv/x\\', '/srv/x ', '/srv/%h'])('a folder %j is quoted on its own line', (workdir) => {
  const unit = generateUnit({ ...NO_SETTINGS, cmd: ['x'], user: 'app:web', workdir }) ?? '';
  expect(unit).toContain(`User=app\nGroup=web\nWorkingDirectory=${workdir.replaceAll('%', '%%')}/.\nEnvironment=`);
});

it.each(['/srv\nExecStartPre=+/bin/sh', '/srv\r'])('a folder %j is refused', (workdir) => {
  expect(() => generateUnit({ ...NO_SETTINGS, cmd: ['x'], workdir })).toThrow('other lines');
});

it('the unit is null without settings, and empty when CMD is cleared', () => {
  expect(generateUnit(NO_SETTINGS)).toBeNull();
  expect(generateUnit({ ...NO_SETTINGS, cmd: [] })).toBe('');
});

it('the unit is valid for systemd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-unit-'));
  try {
    const path = join(folder, UNIT);
    writeFileSync(path, generateUnit({ ...NO_SETTINGS, cmd: ['/bin/echo', '%n $x "y"\t'] }) ?? '');
    execFileSync('systemd-analyze', ['verify', path], { stdio: 'pipe' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
