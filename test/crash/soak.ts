/** `npm run soak` creates and destroys sandboxes while every process is killed at random. Options: docs/tests.md.
 * Exit code 1: residue, a broken audit, a missing proof, or memory above {@link MOST_GROWTH}; 130: Ctrl-C. @module */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exitWith } from './exit-with.ts';
import { runInPlace } from './in-place.ts';
import type { SoakReport, SoakSettings } from './soak-run.ts';

function readOptions(): Omit<SoakSettings, 'root'> & { json: string | undefined } {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: 'simulated' },
      minutes: { type: 'string', default: '30' },
      sandboxes: { type: 'string', default: '2000' },
      'kill-seconds': { type: 'string', default: '15' },
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      json: { type: 'string' },
    },
  });
  const { host: kind, seed, json } = values;
  if (kind !== 'simulated' && kind !== 'libvirt') throw new Error('--host is simulated or libvirt');
  const number = (name: 'minutes' | 'sandboxes' | 'kill-seconds') => {
    const value = Number(values[name]);
    if (!(value > 0 && value <= 1_000_000)) throw new Error(`--${name} is more than 0`);
    return value;
  };
  return {
    kind,
    seed,
    json,
    minutes: number('minutes'),
    sandboxes: number('sandboxes'),
    killSeconds: number('kill-seconds'),
  };
}

async function main(): Promise<number> {
  const { json, ...settings } = readOptions();
  process.stdout.write(
    `${settings.minutes} min or ${settings.sandboxes} sandboxes on ${settings.kind} hosts, seed ${settings.seed}\n`,
  );
  let isInterrupted = false;
  const end = (child: ChildProcess) => {
    if (isInterrupted) child.kill('SIGKILL');
    else child.send('end');
    isInterrupted = true;
  };
  const report = await runInPlace<SoakReport>('soak', 'soak-run.ts', ({ root }) => ({ ...settings, root }), end);
  if (!report) throw new Error('the soak ended without a report');
  if (json) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  for (const line of report.lines) process.stdout.write(`${line}\n`);
  if (isInterrupted) return 130;
  return report.faults.length === 0 ? 0 : 1;
}

await exitWith(main);
