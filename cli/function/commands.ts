import type { Function as DeployedFunction } from '../../clients/typescript/http/openapi.ts';
import { flag, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { deployCommand } from './deploy.ts';
import { functionLines } from './function-text.ts';
import { initCommand } from './init.ts';
import { functionName, NAME } from './input/names.ts';
import { cancelCommand, redriveCommand } from './run/cancel.ts';
import { batchCommand, invokeCommand, triggerCommand } from './run/invoke.ts';
import { logsCommand } from './run/logs.ts';
import { openCommand } from './run/open.ts';
import { replayCommand } from './run/replay.ts';
import { diffCommand, resultCommand, runCommand, runsCommand } from './run/runs.ts';

const HEADER = ['NAME', 'STATE', 'VERSION', 'CHANGED'];

function row({ name, state, activeVersion, updatedAt }: DeployedFunction): string[] {
  return [name, state, String(activeVersion), updatedAt];
}

function changeCommand(act: 'pause' | 'resume', description: string) {
  return command({
    description,
    args: NAME,
    call: ({ args, connect, options }) => connect().functions[act](functionName(args.name), options),
    print: (_io, { name, state }) => `${name} is ${state}`,
  });
}

/**
 * `mayfly function init|deploy|list|get|pause|resume|activate|delete`, and for runs
 * `invoke|trigger|batch|runs|run|logs|result|diff|open|replay|redrive|cancel`
 */
export const functionCommand = nounCommand({
  init: initCommand,
  deploy: deployCommand,
  list: pagedCommand({
    description: 'List functions, by name',
    table: { header: HEADER, row },
    read: ({ connect, options }) => connect().functions.list(options),
  }),
  /** Includes its versions. */
  get: command({
    description: 'Show a function and its versions',
    args: NAME,
    async call({ io, args, connect }) {
      const name = functionName(args.name);
      const { functions } = connect();
      const { signal } = io;
      const found = await functions.get(name, { signal });
      const versions = (await functions.versions(name, { signal })).items;
      return { ...found, versions };
    },
    print: (io, found) => functionLines(io, found, found.versions),
  }),
  invoke: invokeCommand,
  trigger: triggerCommand,
  batch: batchCommand,
  runs: runsCommand,
  run: runCommand,
  logs: logsCommand,
  result: resultCommand,
  diff: diffCommand,
  open: openCommand,
  replay: replayCommand,
  redrive: redriveCommand,
  cancel: cancelCommand,
  pause: changeCommand('pause', 'Start no run of a function; its events are accepted all the same'),
  resume: changeCommand('resume', 'Start the runs of a function again'),
  /** Activates any deployed version. */
  activate: command({
    description: 'Accept events for a version that was deployed before',
    args: {
      ...NAME,
      version: positional('Its number (`mayfly function get`)'),
    },
    async call({ args, connect, options }) {
      const name = functionName(args.name);
      if (!/^[1-9]\d{0,6}$/.test(args.version)) {
        const why = `${JSON.stringify(args.version)} is not the number of a version`;
        throw usageError(why, `List them with \`mayfly function get ${name}\`.`);
      }
      return connect().functions.activate(name, Number(args.version), options);
    },
    print: (_io, version) => `${version.function} version ${version.version} is active; runs that wait keep theirs`,
  }),
  /** Its finished runs stay readable. */
  delete: command({
    description: 'Delete a function and its versions',
    args: {
      ...NAME,
      drain: flag('Accept no more events, and delete it when its runs have ended'),
    },
    async call({ io, args, connect }) {
      const name = functionName(args.name);
      const left = await connect().functions.delete(name, { ...(args.drain && { drain: true }), signal: io.signal });
      return left ?? { name, state: 'deleted' as const };
    },
    print: (_io, { name, state }) =>
      state !== 'deleted' ? `${name} accepts no events, and goes when its runs have ended` : `${name} is deleted`,
  }),
});
