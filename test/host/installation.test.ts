import { readdir, stat, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assertSameMachine,
  type DetectedMachine,
  installationFileOf,
  readInstallation,
  saveInstallation,
} from '../../host/installation.ts';
import type { StateDir } from '../../host/state-dir.ts';
import { temporaryState } from './temporary-state.ts';

async function freshState(): Promise<StateDir> {
  const { state, remove } = await temporaryState();
  onTestFinished(remove);
  return state;
}

const HERE: DetectedMachine = {
  kind: 'libvirt',
  libvirtd: 'system',
  hostUuid: '11111111-2222-4333-8444-555555555555',
  mayChange: false,
  machineId: 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee',
};
const ELSEWHERE = '99999999-2222-4333-8444-555555555555';

test('an id is created once, in a private file, from the key of the host, and stays', async () => {
  const [state, other] = [await freshState(), await freshState()];
  expect(await readInstallation(state)).toBeNull();
  const made = await saveInstallation(state, null, HERE, 'one');
  expect(made).toMatchObject({ id: expect.stringMatching(/^ins-[0-9a-z]{24}$/) });
  expect((await saveInstallation(other, null, HERE, 'another')).id).not.toBe(made.id);
  expect((await stat(installationFileOf(state))).mode & 0o777).toBe(0o600);
  expect(await readdir(state.root)).not.toContain('installation.json.new');
  const known = await readInstallation(state);
  expect(known).toEqual(made);
  expect(await saveInstallation(state, known, HERE, 'one')).toEqual(made);
});

test.each(['', '{"id":"ins-0', '{}', JSON.stringify({ id: '../x', kind: 'libvirt' })])(
  'a damaged file %j is refused with a remedy',
  async (text) => {
    const state = await freshState();
    await writeFile(installationFileOf(state), text);
    await expect(readInstallation(state)).rejects.toMatchObject({
      code: 'another_installation',
      message: expect.stringContaining('from a backup'),
    });
  },
);

describe('a found machine', () => {
  test.each<[string, Partial<DetectedMachine>]>([
    ['another kind', { kind: 'simulated', libvirtd: null }],
    ['a private libvirtd', { libvirtd: 'private' }],
    ['another UUID of the firmware', { hostUuid: ELSEWHERE }],
    ['another UUID and another machine id', { hostUuid: ELSEWHERE, mayChange: true, machineId: ELSEWHERE }],
    ['another UUID on a machine without an id', { hostUuid: ELSEWHERE, mayChange: true, machineId: null }],
  ])('%s is a different machine', async (_what, changes) => {
    const state = await freshState();
    const known = await saveInstallation(state, null, HERE, 'one');
    expect(() => assertSameMachine(state, known, { ...HERE, ...changes })).toThrow(
      expect.objectContaining({ code: 'another_installation', message: expect.stringContaining(state.root) }),
    );
  });

  test('a UUID that libvirt has regenerated is the same machine, and is stored', async () => {
    const state = await freshState();
    const known = await saveInstallation(state, null, HERE, 'one');
    const now = { ...HERE, hostUuid: ELSEWHERE, mayChange: true };
    expect(() => assertSameMachine(state, known, now)).not.toThrow();
    await saveInstallation(state, known, now, 'one');
    expect(await readInstallation(state)).toEqual({ ...known, hostUuid: ELSEWHERE });
  });

  test('a folder without an id is never refused', async () => {
    const state = await freshState();
    expect(() => assertSameMachine(state, null, HERE)).not.toThrow();
  });
});
