import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestPlace } from '../../scripts/test/namespace.mjs';

/** Runs a program of this folder in a network and mount namespace of its own; it takes its settings as its one argument, and is told more over IPC. */
export function spawnInPlace(place: TestPlace, program: string, settings: object): ChildProcess {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const [command = '', ...args] = place.inside([process.execPath, '--import', 'tsx', path, JSON.stringify(settings)]);
  const env = { ...process.env, TMPDIR: place.tmp, MAYFLY_TEST_ROOT: place.root, MAYFLY_TEST_NETNS: place.name };
  // Of a process group of its own: Ctrl-C is for whoever started it.
  return spawn(command, args, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}
