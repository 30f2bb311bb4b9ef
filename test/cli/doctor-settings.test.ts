import { chmod, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { settingsOf } from '../../cli/doctor/servers.ts';
import { exportText } from '../../cli/operate/up.ts';
import { saveSettings } from '../../worker/config/left-settings.ts';
import { useFreshState } from '../support/use-folder.ts';

const state = useFreshState();
let env: NodeJS.ProcessEnv;
let path: string;

beforeEach(async () => {
  env = { MAYFLY_STATE_DIR: state.root };
  path = join(state.root, 'up.json');
});

const UP = {
  MAYFLY_HOST: 'simulated',
  MAYFLY_API_PORT: '8899',
  MONGODB_URI: 'mongodb://u:secret@db/mayfly',
  MAYFLY_FAILPOINTS: 'bootDomain.before=kill',
  PATH: '/bin',
};

// Guards: doctor finds the settings of a running `mayfly up` by its folder alone. Some milliseconds.
describe('the settings of mayfly doctor', () => {
  it('are those of the last `mayfly up` without an environment', async () => {
    await saveSettings(state.root, UP);
    const { config, checks } = await settingsOf(env);
    expect(config).toMatchObject({ hostKind: 'simulated', mongodbUri: UP.MONGODB_URI, stateDir: state.root });
    expect([config.api.port, config.failpoints]).toEqual([8899, undefined]);
    const found = 'as `mayfly up` had them: MAYFLY_HOST, MAYFLY_API_PORT, MONGODB_URI';
    expect(checks).toEqual([{ name: 'settings', ok: true, optional: false, found, remedy: '' }]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('are those of the environment where a variable is set, even if empty', async () => {
    await saveSettings(state.root, UP);
    const { config, checks } = await settingsOf({
      ...env,
      MAYFLY_HOST: 'libvirt',
      MAYFLY_API_PORT: '7',
      MONGODB_URI: '',
    });
    expect([config.hostKind, config.api.port, config.mongodbUri, checks]).toEqual(['libvirt', 7, undefined, []]);
  });

  it('are those of the environment alone without a saved file', async () => {
    const { config, checks } = await settingsOf(env);
    expect([config.hostKind, config.api.port, checks]).toEqual(['libvirt', 7999, []]);
  });

  it('have the actual port of `mayfly up` while it runs', async () => {
    await saveSettings(state.root, { MAYFLY_API_PORT: '0' });
    expect((await settingsOf(env)).config.api).toMatchObject({ port: 0 });
    await writeFile(join(state.root, 'cli.json'), '{"apiUrl":"http://[::1]:41234","apiKey":"mfk_x"}');
    expect((await settingsOf(env)).config.api).toMatchObject({ address: '::1', port: 41234 });
  });

  it.each([
    ['others can read', () => chmod(path, 0o644)],
    ['others can write', () => chmod(path, 0o622)],
    [
      'is a link',
      async () => {
        await rename(path, `${path}.real`);
        await symlink(`${path}.real`, path);
      },
    ],
    ['is no JSON', () => writeFile(path, '{"MAYFLY_HOST":')],
    ['has other things in it', () => writeFile(path, '{"MAYFLY_HOST":["simulated"]}')],
    ['does not fit', () => writeFile(path, '{"MAYFLY_HOST":"docker"}')],
  ])('are not taken from a file that %s, which is reported', async (_what, spoil) => {
    await saveSettings(state.root, UP);
    await spoil();
    const { config, checks } = await settingsOf(env);
    expect(config).toMatchObject({ hostKind: 'libvirt', mongodbUri: undefined });
    expect(checks).toMatchObject([{ name: 'settings', ok: false, optional: true }]);
    expect(JSON.stringify(checks)).not.toContain('secret');
  });

  it('are not taken from unknown variables in the file', async () => {
    await writeFile(path, '{"LD_PRELOAD":"/tmp/x.so","MAYFLY_STATE_DIR":"/elsewhere"}', { mode: 0o600 });
    expect(await settingsOf(env)).toMatchObject({ config: { stateDir: state.root }, checks: [] });
  });
});

it.each([
  ['/var/lib/mayfly', []],
  ['/srv/may.fly-2', ['export MAYFLY_STATE_DIR=/srv/may.fly-2']],
  ["/srv/it's here", ["export MAYFLY_STATE_DIR='/srv/it'\\''s here'"]],
  ['/srv/$(id)', ["export MAYFLY_STATE_DIR='/srv/$(id)'"]],
])('prints how to use the state folder %s in another terminal', (stateDir, lines) => {
  expect(exportText(stateDir)).toEqual(lines);
});
