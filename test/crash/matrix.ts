/** `npm run crash-matrix` interrupts every saga at every point by the death of every process. Options: docs/tests.md.
 * Exit code 1: a cell is red; 130: Ctrl-C. @module */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ansibleArchive, repository } from '../../worker/config/artifacts.mjs';
import { cellsOn, type HostKind, nameOf } from './cells.ts';
import { exitWith } from './exit-with.ts';
import { sumOf } from './functions/ledger.ts';
import { removeAbandoned } from './in-place.ts';
import { runCells } from './lanes.ts';
import { ProgressLine } from './progress-line.ts';
import { SeededRandom } from './random.ts';
import { type KeptResult, pageOf } from './table.ts';

const SHOWN_LINES = 6;
const say = (line: string) => process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: 'simulated' },
      cells: { type: 'string' },
      minutes: { type: 'string' },
      lanes: { type: 'string', default: '2' },
      seed: { type: 'string', default: randomBytes(4).toString('hex') },
      cell: { type: 'string' },
      only: { type: 'string', multiple: true, default: [''] },
      results: { type: 'string' },
      resume: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  if (values.host !== 'simulated' && values.host !== 'libvirt') throw new Error('--host is simulated or libvirt');
  const number = (name: 'cells' | 'minutes' | 'lanes', most: number) => {
    const given = values[name];
    if (given === undefined) return null;
    if (!/^\d+$/.test(given) || Number(given) < 1 || Number(given) > most) throw new Error(`--${name} is 1 to ${most}`);
    return Number(given);
  };
  const lanes = values.host === 'libvirt' ? 1 : (number('lanes', 8) ?? 2);
  const results = values.results ?? join(tmpdir(), `mayfly-crash-matrix-${values.host}.jsonl`);
  const kind: HostKind = values.host;
  return { ...values, kind, count: number('cells', 100_000), minutes: number('minutes', 10_000), lanes, results };
}

function readResults(file: string): KeptResult[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as KeptResult);
}

/** Returns its first lines; the rest, with the output of each process, is in the results. */
function linesOf(why: string): string {
  return why.split('\n').slice(0, SHOWN_LINES).join('\n  ');
}

async function main(): Promise<number> {
  const options = readOptions();
  const { kind, seed, count, minutes, lanes, results: file } = options;
  const isMade = ansibleArchive() !== null;
  const all = cellsOn(kind).filter(({ saga }) => saga !== 'write a playbook' || isMade);
  if (!isMade) say('playbooks are left out: they need Ansible (npm run setup -- --only ansible)');
  const wanted = all.filter((cell) =>
    options.cell ? nameOf(cell) === options.cell : options.only.some((text) => nameOf(cell).includes(text)),
  );
  if (wanted.length === 0) throw new Error('no cell has that name: --list names them');
  if (options.list) {
    for (const cell of wanted) say(nameOf(cell));
    return 0;
  }
  await removeAbandoned();
  const before = options.resume ? readResults(file) : [];
  if (!options.resume) rmSync(file, { force: true });
  const done = new Set(before.map(({ cell }) => cell));
  const order = new SeededRandom(seed, 'order').shuffled(wanted).slice(0, count ?? wanted.length);
  const cells = order.filter((cell) => !done.has(nameOf(cell)));
  say(
    `${cells.length} of ${all.length} cells on ${kind} hosts, seed ${seed}, ${lanes} side by side; results in ${file}`,
  );

  const commit = execFileSync('git', ['-C', repository, 'log', '-1', '--format=%h'], { encoding: 'utf8' }).trim();
  const interruption = new AbortController();
  let isInterrupted = false;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (isInterrupted) process.exit(130);
      isInterrupted = true;
      say('\nends with the cells under way; once more ends at once');
      interruption.abort();
    });
  }
  const budget = minutes === null ? undefined : setTimeout(() => interruption.abort(), minutes * 60_000);
  const line = new ProgressLine(cells.length);
  const results = [...before];
  await runCells(cells, {
    count: lanes,
    kind,
    seed,
    signal: interruption.signal,
    onResult: (given) => {
      const result = { ...given, commit };
      results.push(result);
      appendFileSync(file, `${JSON.stringify(result)}\n`);
      if (result.verdict === 'red') line.above(`RED ${result.cell} (seed ${seed}): ${linesOf(result.why)}`);
      line.advance(result);
    },
  });
  clearTimeout(budget);
  line.end();
  const red = results.filter(({ verdict }) => verdict === 'red');
  const green = results.filter(({ verdict }) => verdict === 'green').length;
  say(
    `${green} green, ${red.length} red, ${results.length - green - red.length} without a victim; ${wanted.length - results.length} not tried`,
  );
  const accounts = results.flatMap(({ account }) => account ?? []);
  if (accounts.length > 0) say(`functions: ${JSON.stringify(sumOf(accounts))}`);
  for (const { cell, seed: its } of red)
    say(`again: npm run crash-matrix -- --host ${kind} --seed ${its} --cell '${cell}'`);
  if (options.write) {
    const page = join(repository, 'docs', 'crash-matrix.md');
    writeFileSync(page, pageOf({ kind, all, results, lanes }, existsSync(page) ? readFileSync(page, 'utf8') : ''));
    say('wrote docs/crash-matrix.md');
  }
  if (isInterrupted) return 130;
  return red.length === 0 ? 0 : 1;
}

await exitWith(main);
