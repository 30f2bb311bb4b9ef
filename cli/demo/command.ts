import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments } from '../arguments.ts';
import { CliError } from '../cli-error.ts';
import { EXIT } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { type DemoPlace, makePlace, removeDeadPlaces, removePlace } from './place.ts';
import { tellStory } from './story.ts';

const ARGS = {
  source: { type: 'string', description: 'Golden VM to clone', default: 'golden-debian12' },
} as const satisfies ArgsDef;

/** Says to the process inside that it is inside. */
const INSIDE = 'MAYFLY_DEMO_NETNS';
const PROGRAM = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));

/** `mayfly demo`: a whole life of one sandbox, in a place of its own that is gone afterwards. */
export function demoCommand(io: Io) {
  return defineCommand({
    meta: { name: 'demo', description: 'Make, destroy and prove one sandbox; leaves nothing behind' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      if (io.env[INSIDE]) return tellStory(io, args.source);
      if (process.getuid?.() !== 0) {
        throw new CliError(
          EXIT.refused,
          'The demo needs root',
          'it makes a network namespace and machines in it',
          'Run it with sudo.',
        );
      }
      return runInPlace(io, rawArgs);
    },
  });
}

async function runInPlace(io: Io, rawArgs: string[]): Promise<number> {
  io.endsItself = true; // what it made must go, however often Ctrl-C comes
  const stale = await removeDeadPlaces();
  if (stale.length > 0) io.print(`removed what a killed demo left: ${stale.join(', ')}`);
  const place = await makePlace();
  let code: number = EXIT.failed;
  try {
    code = await runInside(io, place, rawArgs);
  } finally {
    const ended = await removePlace(place);
    const helped = ended > 0 ? ` (${ended} processes were still there and were ended)` : '';
    io.print(`\nremoved the namespace ${place.namespace} and ${place.stateDir}${helped}: nothing is left`);
  }
  if (code === EXIT.ok) {
    io.print('\nnext: `bin/mayfly up`, and in another terminal `bin/mayfly sandbox create golden-debian12`,');
    io.print('      or the curl line that `mayfly up` prints. Where the story is told: workflows/create-sandbox.ts');
  }
  return code;
}

/** The installation is its own: nothing in the environment may point it to servers or machines of somebody else. */
async function runInside(io: Io, place: DemoPlace, rawArgs: string[]): Promise<number> {
  const { MONGODB_URI: _store, TEMPORAL_ADDRESS: _temporal, MAYFLY_LIBVIRT_URI: _libvirt, ...env } = io.env;
  const child = spawn('ip', ['netns', 'exec', place.namespace, process.execPath, PROGRAM, 'demo', ...rawArgs], {
    stdio: 'inherit',
    detached: true,
    env: {
      ...env,
      [INSIDE]: place.namespace,
      MAYFLY_STATE_DIR: place.stateDir,
      MAYFLY_LIBVIRT_URI: 'private',
      MAYFLY_LOG_LEVEL: env['MAYFLY_LOG_LEVEL'] ?? 'silent',
    },
  });
  // In a session of its own, so that Ctrl-C reaches it once and from here, and its servers not at all.
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
