import { fileURLToPath } from 'node:url';
import { type ArgsDef, defineCommand } from 'citty';
import { isInPlace, runInPlace } from '../place/run-in-place.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { tellStory } from './story.ts';

const ARGS = {
  source: { type: 'string', description: 'Golden VM to clone', default: 'golden-debian12' },
} as const satisfies ArgsDef;

const PROGRAM = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));

/** `mayfly demo`: a whole life of one sandbox, and the quicker ways to others, in a place of its own that is gone afterwards. */
export function demoCommand(io: Io) {
  return defineCommand({
    meta: { name: 'demo', description: 'Make sandboxes in each way, destroy and prove them; leaves nothing behind' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      if (isInPlace(io.env)) return tellStory(io, args.source);
      const code = await runInPlace(io, 'demo', [PROGRAM, 'demo', ...rawArgs]);
      if (code === EXIT.ok) for (const line of NEXT) io.print(line);
      return code;
    },
  });
}

const NEXT = [
  '',
  'next: `bin/mayfly up`, and in another terminal `bin/mayfly sandbox create golden-debian12`,',
  '      or the curl line that `mayfly up` prints. Where the story is told: workflows/sandbox/create-sandbox.ts',
];
