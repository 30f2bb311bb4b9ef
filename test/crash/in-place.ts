import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TestPlace } from '../../scripts/test/namespace.mjs';

/**
 * Runs a program of this folder in its own network and mount namespaces. Settings are its one argument; later messages
 * go over IPC.
 */
export function spawnInPlace(place: TestPlace, program: string, settings: object): ChildProcess {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const [command = '', ...args] = place.inside([process.execPath, '--import', 'tsx', path, JSON.stringify(settings)]);
  const env = { ...process.env, TMPDIR: place.tmp, MAYFLY_TEST_ROOT: place.root, MAYFLY_TEST_NETNS: place.name };
  // Own process group: Ctrl-C is handled by the parent.
  return spawn(command, args, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/**
 * Runs a program in a new place, and removes the place. @param onSignal for Ctrl-C and its like
 * @returns its first message; null when it ends without one. @throws Error when this is not root
 */
export async function runInPlace<T>(
  name: string,
  program: string,
  settingsIn: (place: TestPlace) => object,
  onSignal: (child: ChildProcess) => void,
): Promise<T | null> {
  await removeAbandoned();
  const place = TestPlace.make(name);
  try {
    const child = spawnInPlace(place, program, settingsIn(place));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => onSignal(child));
    return await new Promise<T | null>((resolve) => {
      child.once('message', (message) => resolve(message as T));
      child.once('exit', () => resolve(null));
    });
  } finally {
    await place.remove();
  }
}

/** Removes the places of runs that were killed. @throws Error when this is not root */
export async function removeAbandoned(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('namespaces and mounts need root');
  for (const place of TestPlace.abandoned()) await place.remove();
}
