/**
 * `npm run bench -- [--host simulated|libvirt] [--runs N] [--quick] [--creates] [--pools] [--doors] [--door WORDS]… [--json]`: measures Mayfly in a network
 * namespace and a folder of its own, both gone afterwards. Prints a table (with --json, the figures), keeps
 * the figures in bench/results/ and draws them beside the plain tools'.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isInPlace, runInPlace } from '../cli/place/run-in-place.ts';
import { wholeNumber } from '../cli/terminal/arguments.ts';
import { usageError } from '../cli/terminal/cli-error.ts';
import { EXIT } from '../cli/terminal/exit-codes.ts';
import { Io } from '../cli/terminal/io.ts';
import { exitCodeOf, reportError } from '../cli/terminal/report-error.ts';
import { readConfig } from '../worker/config/config.ts';
import { benchPicture } from './picture.ts';
import { type Report, reportLines } from './report.ts';
import { type BenchOptions, runBench } from './run.ts';

const SOURCE = 'golden-debian12';
const RESULTS = new URL('./results/', import.meta.url);

function readOptions(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        host: { type: 'string' },
        runs: { type: 'string' },
        quick: { type: 'boolean', default: false },
        creates: { type: 'boolean', default: false },
        pools: { type: 'boolean', default: false },
        doors: { type: 'boolean', default: false },
        door: { type: 'string', multiple: true, default: [] },
        json: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error), 'See the head of bench/main.ts.');
  }
}

/** What else is measured beside the doors then: nothing that takes long. */
const DOORS_ALONE = {
  source: SOURCE,
  runs: 1,
  requests: 1,
  stored: 0,
  warmUp: { lives: 0, requests: 0 },
  burst: 0,
  pools: { claims: 0, alive: [], bursts: 0 },
  snapshots: { rounds: 0, chain: 0 },
  transfers: 0,
  idle: null,
};

/** A machine under TCG takes half a minute to boot, a simulated one 100 ms: so many runs as give a median in minutes. */
function extent(
  kind: 'libvirt' | 'simulated',
  { quick, creates, runs, pools, doors, door }: ReturnType<typeof readOptions>,
): BenchOptions {
  const lives = kind === 'simulated' ? 20 : 5;
  const size = quick ? { runs: 3, requests: 5, stored: 100 } : { runs: lives, requests: 50, stored: 10_000 };
  const many = kind === 'simulated' && !quick ? [1_000] : []; // of real machines, memory holds a few
  const warmUp = kind === 'simulated' && !quick ? { lives: 10, requests: 50 } : { lives: 0, requests: 5 };
  const burst = kind === 'simulated' ? (quick ? 10 : 50) : 0;
  if (doors || door.length > 0) {
    const each = runs ? wholeNumber('runs', runs, 1, 1_000) : lives * 2;
    return { ...DOORS_ALONE, doors: { runs: each, words: door } };
  }
  return {
    source: SOURCE,
    doors: { runs: creates || pools ? 0 : quick ? 5 : lives * 2, words: [] },
    burst: pools ? 0 : burst,
    pools: creates
      ? { claims: 0, alive: [], bursts: 0 }
      : {
          claims: quick && !pools ? 5 : 20,
          alive: kind === 'simulated' ? [100] : [],
          bursts: kind === 'simulated' ? (quick ? 5 : 12) : 0,
        },
    warmUp,
    snapshots:
      creates || pools ? { rounds: 0, chain: 0 } : quick ? { rounds: 3, chain: 10 } : { rounds: 15, chain: 30 },
    transfers: creates || pools ? 0 : quick ? 1 : 5,
    idle:
      creates || pools
        ? null
        : { runs: { cli: quick ? 5 : 20, up: quick ? 1 : 5 }, sandboxes: [4, ...many], seconds: quick ? 15 : 60 },
    ...size,
    ...(runs && { runs: wholeNumber('runs', runs, 1, 1_000) }),
  };
}

async function keep(report: Report): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(fileOf(report, 'json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(fileOf(report, 'svg'), benchPicture(report));
}

function fileOf({ at }: Report, ending: 'json' | 'svg'): string {
  return fileURLToPath(new URL(`${at.replaceAll(':', '-')}.${ending}`, RESULTS));
}

async function bench(io: Io, argv: string[]): Promise<number> {
  const options = readOptions(argv);
  const { host, json } = options;
  if (host !== undefined && host !== 'simulated' && host !== 'libvirt') {
    throw usageError(`--host must be simulated or libvirt, not ${JSON.stringify(host)}`);
  }
  if (!isInPlace(io.env))
    return runInPlace(io, 'bench', [...process.execArgv, fileURLToPath(import.meta.url), ...argv]);
  const config = readConfig({ ...io.env, MAYFLY_TEMPLATES: 'off', ...(host && { MAYFLY_HOST: host }) });
  const report = await runBench(io, config, extent(config.hostKind, options), keep);
  if (json) io.printJson(report);
  else for (const line of reportLines(report)) io.print(line);
  io.note(`kept in ${fileOf(report, 'json')}, drawn in ${fileOf(report, 'svg')}`);
  return report.failed.length > 0 ? EXIT.failed : EXIT.ok;
}

const [end, force] = [new AbortController(), new AbortController()];
const { stdout, stderr, env } = process;
const io = new Io({ stdout, stderr, env, signal: end.signal, force: force.signal });
const interrupt = () => (end.signal.aborted ? force : end).abort(new Error('interrupted'));
if (isInPlace(env))
  process.on('SIGINT', () => process.exit(EXIT.interrupted)); // the place's owner removes all of it
else for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
try {
  process.exitCode = await bench(io, process.argv.slice(2));
} catch (error) {
  reportError(io, error, { json: process.argv.includes('--json') });
  process.exitCode = exitCodeOf(error);
}
