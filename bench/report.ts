import { cpus, release, totalmem } from 'node:os';
import { columns } from '../cli/terminal/io.ts';
import { type Figures, type Pair, round } from './support/measure.ts';

/** Figures of one run so far, with their machine. */
export interface Report {
  at: string;
  machine: { cpu: string; cores: number; memoryMib: number; kernel: string; node: string };
  host: { kind: string; isolation: string };
  parts: Record<string, Figures>;
  failed: { part: string; why: string }[];
}

export function emptyReport(kind: string): Report {
  const memoryMib = Math.round(totalmem() / 1_048_576);
  const cpu = cpus()[0]?.model ?? 'unknown';
  const machine = { cpu, cores: cpus().length, memoryMib, kernel: release(), node: process.versions.node };
  return { at: new Date().toISOString(), machine, host: { kind, isolation: 'unknown' }, parts: {}, failed: [] };
}

/** Formats the report for a person. */
export function reportLines({ machine, host, parts, failed }: Report): string[] {
  return [
    `${host.kind} host (isolation: ${host.isolation}), ${machine.cores} × ${machine.cpu}, ${machine.memoryMib} MiB, ` +
      `Linux ${machine.kernel}, Node ${machine.node}`,
    ...Object.entries(parts).flatMap(([name, figures]) => ['', name, ...partLines(figures)]),
    ...failed.map(({ part, why }) => `NOT MEASURED: ${part}: ${why}`),
  ];
}

function partLines(figures: Figures): string[] {
  const rows = Object.entries(figures.spreads).map(([name, { runs, medianMs, p95Ms, maxMs }]) => [
    name,
    String(runs),
    ...[medianMs, p95Ms, maxMs].map((ms) => ms.toFixed(1)),
  ]);
  const table = columns(['', 'runs', 'median ms', 'p95 ms', 'max ms'], rows);
  return [...table, ...pairsOf(figures).map(pairLine), ...(figures.lines ?? [])].map((line) => `  ${line}`);
}

/** Medians of a pair. */
interface Medians extends Pair {
  oursMs: number;
  besideMs: number;
}

/** Returns the pairs with both sides measured. */
export function pairsOf({ spreads, pairs = [] }: Figures): Medians[] {
  return pairs.flatMap((pair) => {
    const [ours, beside] = [spreads[pair.ours], spreads[pair.beside]];
    return ours && beside ? [{ ...pair, oursMs: ours.medianMs, besideMs: beside.medianMs }] : [];
  });
}

function pairLine({ what, beside, most, oursMs, besideMs }: Medians): string {
  const [ratio, moreMs] = [round(oursMs / besideMs), round(oursMs - besideMs)];
  const line = `${what} / ${beside}: ${ratio} times, ${moreMs} ms more`;
  if (!most) return line;
  const [isHeld, bound] =
    'times' in most ? [ratio <= most.times, `${most.times} times`] : [moreMs <= most.moreMs, `${most.moreMs} ms more`];
  return `${line} (${bound} at most${isHeld ? '' : ': MISSED'})`;
}
