import type { ArgsDef } from 'citty';
import type { ProjectUsage } from '../../client/projects.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ProjectLimits } from '../../model/project-limits.ts';
import { GIB, sizeText } from '../../model/snapshots/storage.ts';
import { usageError } from '../terminal/cli-error.ts';

const MIB_A_GIB = 1_024;

/** A limit as it is given: its option, what it limits, and how much one of its unit is in the API's. */
interface LimitOption {
  field: keyof ProjectLimits;
  description: string;
  unit: number;
  min: number;
  max: number;
  text: (value: number) => string;
}

const { max, maxMemoryMib } = LIMITS.projectLimits;
const { min: minBytes, max: maxBytes } = LIMITS.quotaBytes;
const count = { unit: 1, min: 0, max, text: String };

const OPTIONS: Readonly<Record<string, LimitOption>> = {
  sandboxes: { field: 'sandboxes', description: 'Sandboxes at once', ...count },
  cpus: { field: 'cpus', description: 'Virtual CPUs of all its sandboxes', ...count },
  'memory-gib': {
    field: 'memoryMib',
    description: 'Memory of all its sandboxes, GiB',
    unit: MIB_A_GIB,
    min: 0,
    max: maxMemoryMib,
    text: (mib) => sizeText(mib * 1_048_576),
  },
  'disk-gib': {
    field: 'diskBytes',
    description: 'What its sandboxes and snapshots take of disks, GiB',
    unit: GIB,
    min: minBytes,
    max: maxBytes,
    text: sizeText,
  },
  'creates-per-minute': { field: 'createsPerMinute', description: 'New sandboxes within 60 s', ...count },
  streams: { field: 'streams', description: 'Event streams that are open at one API process', ...count },
};

export const LIMIT_OPTIONS = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, { description }]) => [
    name,
    { type: 'string', description: `${description}; \`none\`: no limit` },
  ]),
) as { [name: string]: { type: 'string'; description: string } } satisfies ArgsDef;

/** What was given. @throws CliError */
export function limitsFrom(args: Readonly<Record<string, unknown>>): Partial<ProjectLimits> {
  const named = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const text = args[name];
    return typeof text !== 'string' ? [] : [[option.field, limitFrom(name, option, text)] as const];
  });
  return Object.fromEntries(named);
}

/** Lines of what it has of what it may have. */
export function usageLines(usage: ProjectUsage): string[][] {
  const { sandboxes, cpus, memoryMib, diskBytes, createsLastMinute } = usage;
  const used = { sandboxes, cpus, memoryMib, diskBytes, createsPerMinute: createsLastMinute };
  return Object.entries(OPTIONS).map(([name, { field, text }]) => {
    const limit = usage.limits[field];
    const has = field === 'streams' ? '-' : text(used[field]);
    return [name, has, limit === null ? 'no limit' : text(limit)];
  });
}

/** In words: what is limited. */
export function limitsText(limits: ProjectLimits): string {
  const named = Object.entries(OPTIONS).flatMap(([name, { field, text }]) => {
    const limit = limits[field];
    return limit === null ? [] : [`${name} ${text(limit)}`];
  });
  return named.length > 0 ? named.join(', ') : '-';
}

function limitFrom(name: string, { unit, min: least, max: most }: LimitOption, text: string): number | null {
  if (text === 'none') return null;
  const isNumber = unit === 1 ? /^\d{1,7}$/.test(text) : /^\d{1,7}(\.\d{1,3})?$/.test(text);
  const value = isNumber ? Math.round(Number(text) * unit) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw usageError(`--${name} must be a number from ${least / unit} to ${most / unit}, or none`);
}
