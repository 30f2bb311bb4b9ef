/**
 * `npm run bench -- [PART]… [--host simulated|libvirt] [--runs N] [--quick] [--json]`: measures Mayfly in a network
 * namespace and a folder of its own, both removed afterwards. Prints tables (with --json, the figures), saves the
 * figures in bench/results/ and draws them next to the plain tools'.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isIsolated, runIsolated } from '../cli/place/run-in-place.ts';
import { oneOf, wholeNumber } from '../cli/terminal/arguments.ts';
import { EXIT, usageError } from '../cli/terminal/cli-error.ts';
import { Io } from '../cli/terminal/io.ts';
import { exitCodeOf, reportError } from '../cli/terminal/report-error.ts';
import { MayflyClient } from '../clients/typescript/mayfly-client.ts';
import { readConfig } from '../worker/config/config.ts';
import { startInstallation } from '../worker/installation.ts';
import { benchPicture, PARTS, PARTS_ALONE } from './parts.ts';
import { emptyReport, type Report, reportLines } from './report.ts';
import type { Extent } from './support/bench.ts';
import type { Figures } from './support/measure.ts';

const RESULTS = new URL('./results/', import.meta.url);
const NAMES = [...PARTS_ALONE, ...PARTS].map(({ name }) => name);

function readOptions(argv: string[]) {
  const boolean = { type: 'boolean', default: false } as const;
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { host: { type: 'string' }, runs: { type: 'string' }, quick: boolean, json: boolean },
    });
    return { ...values, parts: positionals.map((name) => oneOf('part', name, NAMES)) };
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error), 'See the head of bench/main.ts.');
  }
}

/**
 * Measures part by part, and destroys everything it made. The report names a part that fails, and the others continue.
 */
async function measure(io: Io, extent: Extent, wanted: readonly string[]): Promise<Report> {
  const { config, isSimulated } = extent;
  const report = emptyReport(config.hostKind);
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
  const measurePart = async (name: string, run: (parts: Report['parts']) => Promise<Figures>) => {
    io.note(name);
    try {
      report.parts[name] = await run(report.parts);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      report.failed.push({ part: name, why });
      io.note(`  not measured: ${why}`);
    }
    await keep(report);
  };
  for (const { name, measure } of PARTS_ALONE) if (isWanted(name)) await measurePart(name, () => measure(extent));
  const parts = PARTS.filter(({ name, isOfLibvirt }) => isWanted(name) && !(isSimulated && isOfLibvirt));
  if (parts.length === 0) return report;
  const installation = await startInstallation(config, (line) => io.note(`  ${line}`));
  try {
    const client = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
    const [host] = (await client.listHosts()).items;
    if (host) report.host = { kind: host.kind, isolation: host.isolation };
    for (const { name, measure } of parts)
      await measurePart(name, (before) => measure({ ...extent, parts: before, installation, client }));
    return report;
  } finally {
    await installation.stop({ sandboxes: 'destroy' });
  }
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
  const { host, runs, quick: isQuick, json, parts } = readOptions(argv);
  if (!isIsolated(io.env))
    return runIsolated(io, 'bench', [...process.execArgv, fileURLToPath(import.meta.url), ...argv]);
  const config = readConfig({
    ...io.env,
    MAYFLY_TEMPLATES: 'off',
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
    ...(host !== undefined && { MAYFLY_HOST: oneOf('host', host, ['simulated', 'libvirt']) }),
  });
  const isSimulated = config.hostKind === 'simulated';
  // A machine under TCG boots in half a minute, a simulated one in 100 ms: these numbers of runs give a median in
  // minutes.
  const usual = isQuick ? { runs: 3, warmUp: 1 } : isSimulated ? { runs: 20, warmUp: 10 } : { runs: 5, warmUp: 1 };
  const rounds = { ...usual, ...(runs !== undefined && { runs: wholeNumber('runs', runs, 1, 1_000) }) };
  const extent = { config, source: 'golden-debian12', isSimulated, isQuick, parts: {}, ...rounds };
  const report = await measure(io, extent, parts);
  if (json) io.printJson(report);
  else for (const line of reportLines(report)) io.print(line);
  io.note(`kept in ${fileOf(report, 'json')}, drawn in ${fileOf(report, 'svg')}`);
  return report.failed.length > 0 ? EXIT.failed : EXIT.ok;
}

const [end, force] = [new AbortController(), new AbortController()];
const { stdout, stderr, env } = process;
const io = new Io({ stdout, stderr, env, signal: end.signal, force: force.signal });
const interrupt = () => (end.signal.aborted ? force : end).abort(new Error('interrupted'));
if (isIsolated(env))
  process.on('SIGINT', () => process.exit(EXIT.interrupted)); // the place's owner removes everything
else for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
try {
  process.exitCode = await bench(io, process.argv.slice(2));
} catch (error) {
  reportError(io, error, { json: process.argv.includes('--json') });
  process.exitCode = exitCodeOf(error);
}
