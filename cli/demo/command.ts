import { fileURLToPath } from 'node:url';
import type { ArgsDef } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import { isIsolated, runIsolated } from '../place/run-in-place.ts';
import { flag } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { runDemo } from './ways.ts';

const ARGS = {
  source: { type: 'string', description: 'Golden VM to clone', default: 'golden-debian12' },
  ways: flag('Then wake one from a template and claim one from a pool'),
} as const satisfies ArgsDef;

const PROGRAM = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));
const NEXT = `
next: \`bin/mayfly demo --ways\` also wakes a VM from a template and claims one from a pool;
      \`bin/mayfly up\`, and in another terminal \`bin/mayfly sandbox create golden-debian12\``;

/** `mayfly demo`: shows the life of a sandbox in a temporary installation, which leaves nothing behind. */
export const demoCommand = customCommand({
  args: ARGS,
  async run({ io, args, rawArgs }) {
    if (isIsolated(io.env)) return runDemo(io, args.source, args.ways);
    io.print(introduction(readConfig(io.env).hostKind === 'simulated', args.ways));
    const code = await runIsolated(io, 'demo', [PROGRAM, 'demo', ...rawArgs]);
    if (code === EXIT.ok) io.print(NEXT);
    return code;
  },
});

function introduction(isSimulated: boolean, ways: boolean): string {
  const what = isSimulated ? 'a simulated VM (it isolates NOTHING)' : 'a VM';
  const then = ways ? 'Then it wakes one from a template and claims one from a pool.\n' : '';
  const time = isSimulated ? 'ten seconds' : ways ? 'two minutes' : 'a minute';
  return (
    `Mayfly demo: boots ${what}, runs a command in it, destroys it and proves that nothing is left.\n${then}` +
    `It takes about ${time}, longer on a busy machine. Ctrl-C ends it at any time and leaves nothing either.`
  );
}
