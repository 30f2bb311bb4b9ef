import { expect, test } from 'vitest';
import type { SetupRecord } from '../../model/functions/setup/setup.ts';
import { SetupPoller } from '../../worker/setups/setups.ts';
import { setupRecord } from '../store/run-records.ts';

test('a poll of unfinished setups does not read ready ones', async () => {
  const read: string[] = [];
  const ready = setupRecord({ state: 'ready' });
  const reading = (what: string, found: SetupRecord[]) => async () => {
    read.push(what);
    return found;
  };
  const functionSetups = { all: reading('all', [ready]), open: reading('open', []), get: async () => ready };
  const functionVersions = { withSetup: reading('versions', [ready]) };
  const asked = { resume: async () => {}, functions: { startSetup: async () => {}, removeSetup: async () => {} } };
  const store = { functionSetups, functionVersions } as unknown as ConstructorParameters<typeof SetupPoller>[0];
  const setups = new SetupPoller(store, asked as unknown as ConstructorParameters<typeof SetupPoller>[1]);
  await setups.look();
  expect(read).toEqual(['open']);
  await setups.release();
  expect(read).toEqual(['open', 'all', 'versions']);
});
