/** `npm run upgrade-test -- [--from REF] [--sandboxes N]` upgrades under load, from a commit (default HEAD~1), and back.
 * Exit code 1: a request was lost or had two effects, or a process took more than 10 s to end after SIGTERM. @module */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repository } from '../../worker/config/artifacts.mjs';
import { exitWith } from './exit-with.ts';
import { runInPlace } from './in-place.ts';

/** Exports a commit into a folder of the place. */
function checkedOut(ref: string, folder: string): string {
  mkdirSync(folder);
  const archive = execFileSync('git', ['-C', repository, 'archive', ref], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin', 'mayfly');
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      from: { type: 'string', default: 'HEAD~1' },
      sandboxes: { type: 'string', default: '50' },
    },
  });
  const faults = (await runInPlace<string[]>(
    'upgrade',
    'upgrade-run.ts',
    ({ root }) => ({
      root,
      from: checkedOut(values.from, join(root, 'from')),
      sandboxes: Number(values.sandboxes),
    }),
    (child) => child.kill('SIGKILL'),
  )) ?? ['it ended without a report'];
  for (const fault of faults) process.stdout.write(`FAULT ${fault}\n`);
  process.stdout.write(
    faults.length === 0 ? `no request was lost, from ${values.from} and back\n` : `${faults.length} faults\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

await exitWith(main);
