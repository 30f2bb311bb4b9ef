import { cpus, release, totalmem } from 'node:os';
import { columns } from '../cli/terminal/columns.ts';
import type { BurstFigures } from './burst.ts';
import type { DirectFigures } from './direct.ts';
import { type DoorFigures, doorsLines } from './doors/doors.ts';
import type { IdleFigures } from './idle.ts';
import { round, type Spread } from './measure/measure.ts';
import { type Processor, totalOf } from './measure/processor.ts';
import type { SagaFigures } from './sagas.ts';
import type { SnapshotFigures } from './snapshots/snapshots.ts';

/** What one run has measured so far, with what it was measured on: a part that was left out, failed or is to come is null. */
export interface Report {
  at: string;
  machine: { cpu: string; cores: number; memoryMib: number; kernel: string; node: string };
  host: { kind: string; isolation: string };
  direct: DirectFigures | null;
  saga: SagaFigures | null;
  burst: BurstFigures | null;
  guest: GuestFigures | null;
  /** Null on a simulated host, which copies. */
  snapshots: SnapshotFigures | null;
  door: { stored: number; spreads: Record<string, Spread> } | null;
  /** Creates that have a member of a pool. */
  pools: Record<string, Spread> | null;
  idle: IdleFigures | null;
  /** Each door beside what it stands on. */
  doors: DoorFigures[] | null;
  failed: { part: string; why: string }[];
}

interface GuestFigures {
  /** Commands, with the plain tools beside them. */
  commands: Record<string, Spread>;
  /** 100 MiB each way, with sftp beside it. */
  files: Record<string, Spread>;
}

export function thisMachine(): Report['machine'] {
  const memoryMib = Math.round(totalmem() / 1_048_576);
  const cpu = cpus()[0]?.model ?? 'unknown';
  return { cpu, cores: cpus().length, memoryMib, kernel: release(), node: process.versions.node };
}

/** What durability adds to the median of a whole create, milliseconds: saga minus the same steps called directly. */
export function sagaCost(
  direct: Record<string, Spread>,
  saga: Record<string, Spread>,
): { wholeMs: number; perStepMs: number; steps: number } {
  const [plain, durable] = [direct['create'], saga['create']];
  if (!plain || !durable) throw new RangeError('a whole create was not measured');
  const steps = Object.keys(direct).filter((name) => name in saga && name !== 'create' && name !== 'destroy').length;
  const wholeMs = round(durable.medianMs - plain.medianMs);
  return { wholeMs, perStepMs: round(wholeMs / steps), steps };
}

/** The report as a person reads it. */
export function reportLines(report: Report): string[] {
  const { machine, host, direct, saga, burst, guest, snapshots, door, doors, pools, idle, failed } = report;
  const parts = [
    doors && doorsLines(doors),
    direct && directLines(direct),
    saga && sagaLines(saga),
    direct && saga && costLines(direct, saga),
    direct?.burst && burst && burstLines(direct.burst, burst),
    guest && guestLines(guest),
    snapshots && snapshotLines(snapshots),
    pools && ['', 'creates that have a member of a pool', ...table(pools)],
    door && doorLines(door),
    idle && idleLines(idle),
    failed.length > 0 && failed.map(({ part, why }) => `NOT MEASURED: ${part}: ${why}`),
  ];
  return [
    `${host.kind} host (isolation: ${host.isolation}), ${machine.cores} × ${machine.cpu}, ${machine.memoryMib} MiB, ` +
      `Linux ${machine.kernel}, Node ${machine.node}`,
    ...parts.flatMap((lines) => (lines ? ['', ...lines] : [])),
  ];
}

function directLines({ spreads }: DirectFigures): string[] {
  return ['the same steps called directly, without Temporal, store and audit', ...table(spreads)];
}

function sagaLines({ spreads }: SagaFigures): string[] {
  return ['durable sagas through the API; a step includes its way through Temporal', ...table(spreads)];
}

function costLines(direct: DirectFigures, saga: SagaFigures): string[] {
  const { wholeMs, perStepMs, steps } = sagaCost(direct.spreads, saga.spreads);
  return [
    `durability costs ${wholeMs} ms a create, ${perStepMs} ms a step (${steps} steps; medians of this run)`,
    processorLine('the steps of a create use', direct.processor),
    processorLine('a create by saga uses', saga.processor),
  ];
}

function doorLines({ stored, spreads }: NonNullable<Report['door']>): string[] {
  return [`the API, with ${stored} ended sandboxes in the store`, ...table(spreads)];
}

function guestLines({ commands, files }: GuestFigures): string[] {
  return [
    'commands on a connection that is open, and the plain tools on the same guest',
    ...table(commands),
    '',
    'files, and sftp on the same guest',
    ...table(files),
    ...shares(files),
  ];
}

function processorLine(what: string, processor: Processor): string {
  const { own, programs, servers } = processor;
  return `${what} ${totalOf(processor)} s of processor time (own ${own}, programs ${programs}, servers ${servers})`;
}

function burstLines(direct: BurstFigures, saga: BurstFigures): string[] {
  const line = (what: string, { createsPerSecond, destroysPerSecond }: BurstFigures) =>
    `  ${what}: ${createsPerSecond} creates/s, ${destroysPerSecond} destroys/s`;
  const share = Math.round((100 * saga.createsPerSecond) / direct.createsPerSecond);
  return [
    `${saga.atOnce} at once`,
    line('the same steps called directly', direct),
    line('sagas through the API', saga),
    `  ${share} % of what the direct steps reach`,
  ];
}

function snapshotLines({ snapshots, diff, chain, full, forks }: SnapshotFigures): string[] {
  const [ours, plain] = [
    snapshots['through the API, until ready'],
    snapshots['virsh snapshot-create-as --disk-only --quiesce'],
  ];
  const read = Object.entries(chain.readMs).map(([name, ms]) => `${name} ${ms} ms`);
  return [
    'disk snapshots, and the plain tool on an equal machine',
    ...table(snapshots),
    ...(ours && plain ? [`  until ready: ${round(ours.medianMs - plain.medianMs)} ms above the plain tool`] : []),
    `  ${chain.snapshots} in a row: flattened ${chain.flattened} times, at most ${chain.deepest} deep; the same bytes read in ${read.join(', ')}`,
    `  what changed, ${diff.found} of ${diff.files} new files found: median ${diff.ms.medianMs} ms, at most ${diff.ms.maxMs} ms`,
    ...Object.entries(forks).flatMap(([kind, { asked, verified, seconds, memoryMibEach, failures }]) => [
      `  ${asked} forks, ${kind}: ${verified} verified after ${seconds} s, ${memoryMibEach} MiB each`,
      ...failures.map((failure) => `    ${failure}`),
    ]),
    '',
    'memory and disks, and libvirt on an equal machine',
    ...table(full),
  ];
}

function idleLines({ cli, up, idle }: IdleFigures): string[] {
  return [
    'starts, and an empty Node beside them',
    ...table({ ...cli, 'mayfly up, until its API answers': up }),
    '',
    'all of Mayfly beside sandboxes that do nothing: its process, Temporal and the store, without guests and libvirtd',
    ...idle.flatMap(({ sandboxes, corePercent, residentMib, processes, create }) => [
      ...(sandboxes > 0 ? [`  ${sandboxes} sandboxes: ${corePercent} % of a core, ${residentMib} MiB`] : []),
      ...processes.map(
        (one) =>
          `    ${one.name}: ${one.corePercent} %, its ended children ${one.childrenPercent} %, ${one.residentMib} MiB`,
      ),
      ...(create ? [`  a create beside ${sandboxes}: median ${create.medianMs} ms`] : []),
    ]),
  ];
}

/** Our speed as a share of sftp's. */
function shares(files: GuestFigures['files']): string[] {
  return ['up', 'down'].flatMap((way) => {
    const [ours, sftp] = [files[`${way}, through the API`], files[`${way}, sftp`]];
    if (!ours || !sftp) return [];
    return [`  ${way}: ${Math.round((100 * sftp.medianMs) / ours.medianMs)} % of sftp's speed`];
  });
}

function table(spreads: Record<string, Spread>): string[] {
  const rows = Object.entries(spreads).map(([name, { runs, medianMs, p95Ms, maxMs }]) => [
    name,
    String(runs),
    medianMs.toFixed(1),
    p95Ms.toFixed(1),
    maxMs.toFixed(1),
  ]);
  return columns(['', 'runs', 'median ms', 'p95 ms', 'max ms'], rows).map((line) => `  ${line}`);
}
