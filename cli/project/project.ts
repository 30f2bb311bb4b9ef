import type { ArgsDef } from 'citty';
import type { PatchProject, ProjectUsage } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Project } from '../../model/project.ts';
import type { ProjectLimits } from '../../model/project-limits.ts';
import { formatSize, GIB } from '../../model/snapshots/storage.ts';
import { limit, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { columns, type Io, printable } from '../terminal/io.ts';

const MIB_A_GIB = 1_024;

/** Option that sets a limit: its field, and its unit as a multiple of the API's. */
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
    text: (mib) => formatSize(mib * 1_048_576),
  },
  'disk-gib': {
    field: 'diskBytes',
    description: 'What its sandboxes and snapshots take of disks, GiB',
    unit: GIB,
    min: minBytes,
    max: maxBytes,
    text: formatSize,
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

/** Parses the given limits. @throws CliError */
export function limitsFrom(args: Readonly<Record<string, unknown>>): Partial<ProjectLimits> {
  const named = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const text = args[name];
    return typeof text !== 'string' ? [] : [[option.field, limit(name, text, option.unit, option)] as const];
  });
  return Object.fromEntries(named);
}

/** Lists a project's usage and limits. */
export function usageLines(usage: ProjectUsage): string[][] {
  const { sandboxes, cpus, memoryMib, diskBytes, createsLastMinute } = usage;
  const used = { sandboxes, cpus, memoryMib, diskBytes, createsPerMinute: createsLastMinute };
  return Object.entries(OPTIONS).map(([name, { field, text }]) => {
    const most = usage.limits[field];
    const has = field === 'streams' ? '-' : text(used[field]);
    return [name, has, most === null ? 'no limit' : text(most)];
  });
}

/** Describes the limits for a person. */
export function limitsText(limits: ProjectLimits): string {
  const named = Object.entries(OPTIONS).flatMap(([name, { field, text }]) => {
    const most = limits[field];
    return most === null ? [] : [`${name} ${text(most)}`];
  });
  return named.length > 0 ? named.join(', ') : '-';
}

const ID = { id: positional('Id of a project') };

function changing(name: 'create' | 'set', description: string) {
  return command({
    description,
    args: {
      ...ID,
      source: option(
        'A source that it may use; may be given more than once. `all`: all but those of other projects, `none`: its own',
      ),
      ...LIMIT_OPTIONS,
    },
    repeatable: ['source'],
    async call({ args, repeated, connect, options }) {
      const sources = repeated('source');
      const settings = settingsFrom(sources, limitsFrom(args));
      if (name === 'set' && Object.keys(settings).length === 0)
        throw usageError('give --source, or a limit such as --sandboxes');
      const { projects } = connect();
      return name === 'create'
        ? projects.create({ id: args.id, ...settings }, options)
        : projects.change(args.id, settings, options);
    },
    print: projectText,
  });
}

/** Makes settings of the given options; omitted ones stay absent. */
function settingsFrom(sources: string[], limits: Partial<ProjectLimits>): PatchProject {
  return {
    ...(sources.length > 0 && { sources: sources.includes('all') ? null : sources.filter((name) => name !== 'none') }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function projectText(_io: Io, project: Project): string {
  return `${printable(project.id)} may use ${sourcesText(project)}; limits: ${limitsText(project.limits)}`;
}

function sourcesText({ sources }: Project): string {
  if (sources === null) return 'all sources but those of other projects';
  return ['its own sources', ...sources.map(printable)].join(', ');
}

const HEADER = ['ID', 'SOURCES', 'LIMITS', 'CREATED', 'DELETED'];

function row(project: Project): string[] {
  const { id, limits, createdAt, deletedAt } = project;
  return [id, sourcesText(project), limitsText(limits), createdAt, deletedAt ?? '-'];
}

const listProjects = pagedCommand({
  description: 'List projects',
  table: { header: HEADER, row },
  read: ({ connect, options }) => connect().projects.list(options),
});

const showProject = command({
  description: 'Show a project',
  args: ID,
  call: ({ args, connect, options }) => connect().projects.get(args.id, options),
  print: projectText,
});

const showUsage = command({
  description: 'What a project has now of what it may have',
  args: ID,
  call: ({ args, connect, options }) => connect().projects.usage(args.id, options),
  print: (_io, usage) => columns(['', 'USED', 'LIMIT'], usageLines(usage)),
});

const deleteProject = command({
  description: 'Delete a project in which nothing is left, and revoke its keys',
  args: ID,
  call: ({ args, connect, options }) => connect().projects.delete(args.id, options),
  print: (_io, _project, args) => `${printable(args.id)} is deleted, and its keys are revoked`,
});

export const projectCommand = nounCommand(
  {
    create: changing('create', 'Make a project, which may use the sources that are named and its own'),
    list: listProjects,
    get: showProject,
    usage: showUsage,
    update: changing('set', 'Change what a project may use and have; what is not given stays'),
    delete: deleteProject,
  },
  { update: ['set'] },
);
