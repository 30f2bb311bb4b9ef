import type { PatchProject } from '../../clients/typescript/http/openapi.ts';
import type { Project } from '../../model/project.ts';
import type { ProjectLimits } from '../../model/project-limits.ts';
import { option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { LIMIT_OPTIONS, limitsFrom, limitsText, usageLines } from './limits.ts';

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

/** What is not given is not in it. */
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

/** `mayfly project create|list|get|usage|update|delete` */
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
