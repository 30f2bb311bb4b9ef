import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CliError, EXIT } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';
import { createEnvironment, type IsolatedEnvironment, removeEnvironment, removeStaleEnvironments } from './place.ts';

/** Variable that marks the process inside. */
const INSIDE = 'MAYFLY_PLACE';

export function isIsolated(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env[INSIDE]);
}

/**
 * Runs a program of Mayfly in a place of its own, and always removes the place: Ctrl-C is forwarded once, a second one
 * kills the program.
 * @param argv arguments of `node`
 * @returns the program's exit code
 * @throws CliError when this is not root
 */
export async function runIsolated(io: Io, kind: 'demo' | 'bench', argv: string[]): Promise<number> {
  if (process.getuid?.() !== 0) {
    const why = 'it makes a network namespace and machines in it';
    throw new CliError(EXIT.refused, `The ${kind} needs root`, why, 'Run it with sudo.');
  }
  io.endsItself = true; // cleanup must finish, even after more Ctrl-C
  const stale = await removeStaleEnvironments();
  if (stale.length > 0) io.note(`removed what a killed run left: ${stale.join(', ')}`);
  const place = await createEnvironment(kind);
  try {
    return await runInside(io, place, argv);
  } finally {
    const ended = await removeEnvironment(place);
    const helped = ended > 0 ? ` (${ended} processes were still there and were ended)` : '';
    io.note(`removed the namespace ${place.namespace} and ${place.stateDir}${helped}: nothing is left`);
  }
}

/** Isolates the installation: the environment must not point it to external servers or machines. */
async function runInside(io: Io, place: IsolatedEnvironment, argv: string[]): Promise<number> {
  const { MONGODB_URI: _store, TEMPORAL_ADDRESS: _temporal, MAYFLY_LIBVIRT_URI: _libvirt, ...env } = io.env;
  const child = spawn('ip', ['netns', 'exec', place.namespace, process.execPath, ...argv], {
    stdio: 'inherit',
    detached: true, // own session: Ctrl-C reaches it once, from here, and never its servers
    env: {
      ...env,
      [INSIDE]: place.namespace,
      MAYFLY_STATE_DIR: place.stateDir,
      MAYFLY_LIBVIRT_URI: 'private',
      MAYFLY_LOG_LEVEL: env['MAYFLY_LOG_LEVEL'] ?? 'silent',
    },
  });
  const forward = () => child.kill('SIGINT');
  const force = () => child.kill('SIGKILL');
  io.signal.addEventListener('abort', forward);
  io.force.addEventListener('abort', force);
  if (io.signal.aborted) forward();
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? EXIT.failed;
  } finally {
    io.signal.removeEventListener('abort', forward);
    io.force.removeEventListener('abort', force);
  }
}
