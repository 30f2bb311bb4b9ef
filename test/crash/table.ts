import { cpus, release, totalmem } from 'node:os';
import type { CellResult } from './cell-run.ts';
import { type Cell, type HostKind, nameOf } from './cells.ts';
import { sumOf } from './functions/ledger.ts';
import { FAULTS, VICTIMS } from './victims.ts';

export interface KeptResult extends CellResult {
  commit: string;
}

export interface Tried {
  kind: HostKind;
  /** All cells on hosts of this kind. */
  all: readonly Cell[];
  results: readonly KeptResult[];
  /** Number of parallel installations. */
  lanes: number;
}

const HEAD = `# The crash matrix

\`npm run crash-matrix -- --write\` generates this page; each run replaces the part of its kind of host.

The matrix interrupts every saga at every point by the death of every process. The process at the point is stopped (\`SIGSTOP\`). The victim is killed (\`SIGKILL\`) and restarts within a second. A cell is **green** if the
saga ended, the user learned the outcome, and host, store and Temporal agreed, before and after a cleanup. A cell has **no victim** if, for example, no machine runs yet.

* **points**: before a step; in its middle, on simulated hosts; after its effect and before Temporal knows; the same for each compensation (\`test/support/saga-points.ts\`).
* **victims**: host worker, control worker, API, Temporal, store, libvirtd, the sandbox's machine, all at once.
* **other faults**, once per step: Temporal and the store unreachable (\`partition\`); the worker stopped beyond its heartbeat, so that Temporal delivers the attempt twice (\`frozen\`); the same request twice (\`twice\`); a full disk (\`disk-full\`).
* **account** of functions: each started process prints a random nonce. Each accepted event has one run, each started attempt one nonce (one that ended \`unknown\` may lack it), each ended run its proof.
* **census**: \`test/crash/census/\` reads /proc, the file system, sockets and libvirt. It shares no code with destroy.
* **not covered**: hibernate and wake on simulated hosts; captures of running sources and decommissioning a host on real VMs.

A seed sets the order, the sample and the moments of each cell. Repeat one: \`npm run crash-matrix -- --host KIND --seed SEED --cell NAME\`.
`;

/** Returns the page with the part of one kind of host replaced. @param present current page; empty: none */
export function pageOf(tried: Tried, present: string): string {
  const parts = (['simulated', 'libvirt'] as const).map((kind) =>
    kind === tried.kind
      ? marked(kind, partOf(tried))
      : (partIn(present, kind) ?? marked(kind, `## On ${kind} hosts\n\nNot run yet.`)),
  );
  return `${[HEAD, ...parts].join('\n')}\n`;
}

function marked(kind: HostKind, text: string): string {
  return `<!-- ${kind} -->\n${text}\n<!-- end of ${kind} -->`;
}

function partIn(page: string, kind: HostKind): string | null {
  return new RegExp(`<!-- ${kind} -->[^]*<!-- end of ${kind} -->`).exec(page)?.[0] ?? null;
}

function partOf({ kind, all, results, lanes }: Tried): string {
  const byName = new Map(results.map((result) => [result.cell, result]));
  const victims = [...VICTIMS, ...FAULTS].filter((victim) => all.some((cell) => cell.victim === victim));
  const sagas = [...new Set(all.map(({ saga }) => saga))];
  const rows = sagas.map((saga) => {
    const cells = victims.map((victim) =>
      counted(
        all.filter((cell) => cell.saga === saga && cell.victim === victim),
        byName,
      ),
    );
    return `| ${saga} | ${cells.join(' | ')} |`;
  });
  const red = results.filter(({ verdict }) => verdict === 'red');
  const seeds = [...new Set(results.map(({ seed }) => seed))].join(', ');
  const commits = [...new Set(results.map(({ commit }) => commit))].join(', ');
  return [
    `## On ${kind} hosts`,
    '',
    `${conditions(commits, lanes)} Seeds: ${seeds}. ${results.length} of ${all.length} cells tried, ${timeOf(results)}.`,
    '',
    'Green of tried; `·`: no such victim; `–`: not tried.',
    '',
    `| saga | ${victims.join(' | ')} |`,
    `|---|${victims.map(() => '---').join('|')}|`,
    ...rows,
    '',
    ...accountOf(results),
    red.length === 0 ? 'No cell is red.' : 'Red:',
    ...(red.length === 0
      ? []
      : ['', ...red.map(({ cell, seed, why }) => `* \`${cell}\`, seed ${seed}: ${firstLineOf(why)}`)]),
  ].join('\n');
}

/** Returns the totals of function runs over all cells that ran. */
function accountOf(results: readonly CellResult[]): string[] {
  const accounts = results.flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) return [];
  const { accepted, runs, startedAttempts, nonces, unheard, ended, proofs } = sumOf(accounts);
  const attempts = `${startedAttempts} started attempts, ${nonces} nonces${unheard > 0 ? `, ${unheard} not received` : ''}`;
  return [`Functions: ${accepted} accepted, ${runs} runs; ${attempts}; ${ended} ended, ${proofs} proofs.`, ''];
}

function counted(cells: readonly Cell[], results: ReadonlyMap<string, CellResult>): string {
  const tried = cells.flatMap((cell) => results.get(nameOf(cell)) ?? []);
  if (tried.length === 0) return cells.length === 0 ? '·' : '–';
  const met = tried.filter(({ verdict }) => verdict !== 'none');
  if (met.length === 0) return '·';
  const green = met.filter(({ verdict }) => verdict === 'green').length;
  return green === met.length ? `${green}/${met.length}` : `**${green}/${met.length}**`;
}

function conditions(commits: string, lanes: number): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`;
  return `Commit ${commits}, ${new Date().toISOString().slice(0, 10)}, ${machine}, Node ${process.versions.node}; ${lanes} installations side by side.`;
}

function timeOf(results: readonly CellResult[]): string {
  const minutes = results.reduce((sum, { seconds }) => sum + seconds, 0) / 60;
  return `${minutes.toFixed(0)} minutes of one installation in all`;
}

/** Returns the start of a failure on one line, for a list. */
function firstLineOf(why: string): string {
  return why.split('\n').slice(0, 2).join(' ').slice(0, 240).replaceAll('|', '/');
}
