import { type ArgsDef, defineCommand } from 'citty';
import type { ProjectSettings } from '../../client/projects.ts';
import type { Project } from '../../model/project.ts';
import type { ProjectLimits } from '../../model/project-limits.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { printable } from '../terminal/printable.ts';
import { LIMIT_OPTIONS, limitsFrom, limitsText, usageLines } from './limits.ts';

const ID = { id: { type: 'positional', description: 'Id of a project', required: true } } as const satisfies ArgsDef;
const ONE = { ...ID, ...JSON_OPTION } as const satisfies ArgsDef;
const SETTINGS = {
  ...ID,
  source: {
    type: 'string',
    description:
      'A source that it may use; may be given more than once. `all`: all but those of other projects, `none`: its own',
  },
  ...LIMIT_OPTIONS,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly project create|list|show|usage|set|delete` */
export function projectCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: changing(io, 'create', 'Make a project, which may use the sources that are named and its own'),
      list: listProjects(io),
      show: showProject(io),
      usage: showUsage(io),
      set: changing(io, 'set', 'Change what a project may use and have; what is not given stays'),
      delete: deleteProject(io),
    },
  });
}

function changing(io: Io, name: 'create' | 'set', description: string) {
  return defineCommand({
    meta: { name, description },
    args: SETTINGS,
    async run({ args, rawArgs }) {
      const sources = checkArguments(rawArgs, SETTINGS, ['source']).get('source') ?? [];
      const settings = settingsFrom(sources, limitsFrom(args));
      if (name === 'set' && Object.keys(settings).length === 0)
        throw usageError('give --source, or a limit such as --sandboxes');
      const { projects } = connect(io);
      const options = { signal: io.signal };
      const project =
        name === 'create'
          ? await projects.create({ id: args.id, ...settings }, options)
          : await projects.change(args.id, settings, options);
      print(io, project, args.json);
      return EXIT.ok;
    },
  });
}

/** What is not given is not in it. */
function settingsFrom(sources: string[], limits: Partial<ProjectLimits>): ProjectSettings {
  return {
    ...(sources.length > 0 && { sources: sources.includes('all') ? null : sources.filter((name) => name !== 'none') }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function print(io: Io, project: Project, asJson: boolean): void {
  if (asJson) io.printJson(project);
  else io.print(`${printable(project.id)} may use ${sourcesText(project)}; limits: ${limitsText(project.limits)}`);
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

function listProjects(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List projects' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { projects } = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => projects.list(page));
      return EXIT.ok;
    },
  });
}

function showProject(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a project' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      print(io, await connect(io).projects.get(args.id, { signal: io.signal }), args.json);
      return EXIT.ok;
    },
  });
}

function showUsage(io: Io) {
  return defineCommand({
    meta: { name: 'usage', description: 'What a project has now of what it may have' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const usage = await connect(io).projects.usage(args.id, { signal: io.signal });
      if (args.json) io.printJson(usage);
      else for (const line of columns(['', 'USED', 'LIMIT'], usageLines(usage))) io.print(line);
      return EXIT.ok;
    },
  });
}

function deleteProject(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a project in which nothing is left, and revoke its keys' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const project = await connect(io).projects.delete(args.id, { signal: io.signal });
      if (args.json) io.printJson(project);
      else io.print(`${printable(args.id)} is deleted, and its keys are revoked`);
      return EXIT.ok;
    },
  });
}
