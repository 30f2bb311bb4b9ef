import type { ArgsDef } from 'citty';
import type { ProjectUsage } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ProjectLimits } from '../../model/project-limits.ts';
import { GIB, sizeText } from '../../model/snapshots/storage.ts';
import { limit } from '../terminal/quantities.ts';

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
    return typeof text !== 'string' ? [] : [[option.field, limit(name, text, option.unit, option)] as const];
  });
  return Object.fromEntries(named);
}

/** Lines of what it has of what it may have. */
export function usageLines(usage: ProjectUsage): string[][] {
  const { sandboxes, cpus, memoryMib, diskBytes, createsLastMinute } = usage;
  const used = { sandboxes, cpus, memoryMib, diskBytes, createsPerMinute: createsLastMinute };
  return Object.entries(OPTIONS).map(([name, { field, text }]) => {
    const most = usage.limits[field];
    const has = field === 'streams' ? '-' : text(used[field]);
    return [name, has, most === null ? 'no limit' : text(most)];
  });
}

/** In words: what is limited. */
export function limitsText(limits: ProjectLimits): string {
  const named = Object.entries(OPTIONS).flatMap(([name, { field, text }]) => {
    const most = limits[field];
    return most === null ? [] : [`${name} ${text(most)}`];
  });
  return named.length > 0 ? named.join(', ') : '-';
}
