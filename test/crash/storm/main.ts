/** `npm run storm` sends more events than can run, a fifth of them duplicates, and kills the API and the store.
 * Options: docs/tests.md. Exit code 1: a lost or doubled event, answers slower than {@link MOST_MS}, memory growth, an
 * exceeded limit or a starved key. @module */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { exitWith } from '../exit-with.ts';
import { runInPlace } from '../in-place.ts';
import type { StormReport, StormSettings } from './storm-run.ts';

function readOptions(): Omit<StormSettings, 'root'> & { json: string | undefined } {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      rate: { type: 'string', default: '167' },
      run: { type: 'string', default: '0' },
      keys: { type: 'string', default: '20' },
      kills: { type: 'string', default: '3' },
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      json: { type: 'string' },
    },
  });
  const number = (name: 'seconds' | 'rate' | 'run' | 'keys' | 'kills', least: number) => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value >= least && value <= 100_000) return value;
    throw new Error(`--${name} is a whole number from ${least}`);
  };
  return {
    seed: values.seed,
    json: values.json,
    seconds: number('seconds', 1),
    rate: number('rate', 1),
    run: number('run', 0),
    keys: number('keys', 1),
    kills: number('kills', 0),
  };
}

async function main(): Promise<number> {
  const { json, ...settings } = readOptions();
  process.stdout.write(`${settings.seconds} s at ${settings.rate} a second, seed ${settings.seed}\n`);
  const report = await runInPlace<StormReport>(
    'storm',
    'storm/storm-run.ts',
    ({ root }) => ({ ...settings, root }),
    (child) => child.kill('SIGTERM'),
  );
  if (!report) throw new Error('the storm ended without a report');
  if (json) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  for (const line of report.lines) process.stdout.write(`${line}\n`);
  return report.faults.length === 0 ? 0 : 1;
}

await exitWith(main);
