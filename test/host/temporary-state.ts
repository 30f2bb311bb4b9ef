import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StateDir } from '../../host/state-dir.ts';

/** Creates a state folder for one test, which must call `remove` at its end. */
export async function temporaryState(): Promise<{ state: StateDir; remove: () => Promise<void> }> {
  const root = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'mayfly-host-'));
  return { state: new StateDir(root), remove: () => rm(root, { recursive: true, force: true }) };
}
