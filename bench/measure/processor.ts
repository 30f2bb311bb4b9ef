import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { storeBinary, temporalBinary } from '../../worker/config/artifacts.mjs';
import { round } from './measure.ts';

/** Processor time of all that is ours, seconds: guests are not. */
export interface Processor {
  /** This process: API, workers, hypervisor driver. */
  own: number;
  /** Programs that it ran, and that have ended. */
  programs: number;
  /** Temporal and the store. */
  servers: number;
}

/** USER_HZ, in which proc(5) counts: 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** What has been used so far. Servers are those of our own among the children of this process. */
function processorTime(): Processor {
  const { user, system } = process.cpuUsage();
  const servers = serverPids().map((pid) => statOf(pid));
  return {
    own: (user + system) / 1e6,
    programs: statOf('self').waitedFor,
    servers: servers.reduce((sum, { used }) => sum + used, 0),
  };
}

/** Adds up what several runs of the same thing use. */
export class ProcessorMeter {
  #runs = 0;
  readonly #sum: Processor = { own: 0, programs: 0, servers: 0 };

  async measure<T>(runs: number, run: () => Promise<T>): Promise<T> {
    const before = processorTime();
    const result = await run();
    const after = processorTime();
    this.#runs += runs;
    for (const part of ['own', 'programs', 'servers'] as const) this.#sum[part] += after[part] - before[part];
    return result;
  }

  /** Seconds a run. @throws RangeError when nothing was measured */
  each(): Processor {
    if (this.#runs === 0) throw new RangeError('nothing was measured');
    const { own, programs, servers } = this.#sum;
    return {
      own: round3(own / this.#runs),
      programs: round3(programs / this.#runs),
      servers: round3(servers / this.#runs),
    };
  }
}

export function totalOf({ own, programs, servers }: Processor): number {
  return round(own + programs + servers);
}

function round3(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000;
}

function serverPids(): string[] {
  const names = [temporalBinary(), storeBinary()?.path].flatMap((path) => (path ? [basename(path)] : []));
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return children.filter((pid) => names.some((name) => nameOf(pid) === name.slice(0, 15)));
}

/** At most 15 characters (proc(5), `comm`); empty when it has ended. */
function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return '';
    throw error;
  }
}

/** Seconds that a process has used, and those of children that it has waited for (proc(5), `stat`). */
function statOf(pid: string): { used: number; waitedFor: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND;
  return { used: seconds(11), waitedFor: seconds(13) };
}
