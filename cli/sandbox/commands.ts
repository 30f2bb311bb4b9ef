import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { idleAction } from '../../model/sandbox/sandbox.ts';
import { isFinal, SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import {
  flag,
  idOrName,
  JSON_OPTION,
  option,
  positional,
  seconds,
  WAIT_OPTION,
  waitSeconds,
} from '../terminal/arguments.ts';
import { CliError, EXIT, type ExitCode, usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { everyItem } from '../terminal/list.ts';
import { exitCodeOf, reportError } from '../terminal/report-error.ts';
import { createCommand, waitCommand } from './create.ts';
import { follow, StepPrinter, sandboxLines, usageLine, waitSignal } from './sandbox-text.ts';

function idleFrom(text: string): number | null {
  return text === 'off' ? null : seconds('idle', text, LIMITS.idleSeconds);
}

/** `mayfly sandbox update`, also called `set` and `extend`: changes when a sandbox ends, and whether use resumes it. */
export const setCommand = command({
  description: 'Change when a sandbox ends, and whether use resumes it',
  args: {
    id: positional('Id or name of a sandbox'),
    ttl: option('From now to its new end, such as 90s or 1h30m', '1h'),
    idle: option('How long it may be unused until it ends', '15m|off'),
    'on-idle': { type: 'enum', options: [...idleAction.options], description: 'What is done then' },
    'auto-resume': {
      type: 'enum',
      options: ['on', 'off'],
      description: 'Resume it when it is used while paused or hibernated',
    },
  },
  async call({ args, connect, options }) {
    const id = idOrName(args.id);
    const autoResume = args['auto-resume'];
    const onIdle = args['on-idle'];
    if (!args.ttl && !args.idle && !onIdle && !autoResume)
      throw usageError('give --ttl, --idle, --on-idle or --auto-resume');
    const change = {
      ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, LIMITS.ttlSeconds) }),
      ...(args.idle && { idleSeconds: idleFrom(args.idle) }),
      ...(onIdle && { onIdle }),
      ...(autoResume && { autoResume: autoResume === 'on' }),
    };
    return connect().extendSandbox(id, change, options);
  },
  print: sandboxLines,
});

const HEADER = ['ID', 'NAME', 'STATE', 'SOURCE', 'HOST', 'ADDRESS', 'EGRESS', 'CREATED'];

function row({ id, name, state, phase, spec, hostId, ssh, createdAt }: Sandbox): string[] {
  const doing = phase ? `${state} (${phase})` : state;
  return [id, name ?? '-', doing, spec.source, hostId ?? '-', ssh?.address ?? '-', spec.network.egress, createdAt];
}

/** `mayfly sandbox list`: newest first, all pages; only living ones by default. */
export const listCommand = pagedCommand({
  description: 'List the sandboxes that live, newest first',
  args: {
    all: { type: 'boolean', alias: 'a', description: 'Those that have ended too', default: false },
    state: { type: 'enum', options: [...SANDBOX_STATES], description: 'Only those in this state' },
  },
  table: { header: HEADER, row },
  read({ args, connect }) {
    const state = SANDBOX_STATES.find((known) => known === args.state);
    const which = state ? { state } : !args.all && { alive: true as const };
    return (page) => connect().listSandboxes({ ...page, ...which });
  },
});

/** `mayfly sandbox get`: the record, with its steps on stderr. */
export const getCommand = customCommand({
  description: 'Show a sandbox',
  args: { id: positional('Id or name of a sandbox'), ...JSON_OPTION },
  async run({ io, args, connect, options }) {
    const named = idOrName(args.id);
    const client = connect();
    const record = await client.getSandbox(named, options);
    if (args.json) {
      io.printJson(record);
      return;
    }
    const usage = await client.sandboxUsage(record.id, options);
    for (const line of [...sandboxLines(io, record), usageLine(usage)]) io.print(line);
    new StepPrinter(io).show(record);
  },
});

/** Returns success only for a proved end: every layer inspected, nothing found. */
function verdict(record: Sandbox): ExitCode {
  const proved = record.proof !== null && unprovenLayers(record.proof.observations).length === 0;
  return isFinal(record.state) && proved ? EXIT.ok : EXIT.failed;
}

/** `mayfly sandbox destroy`: done when the proof exists, from any state of the sandbox. */
export const destroyCommand = customCommand({
  description: 'End sandboxes and wait for the proof that nothing is left',
  args: {
    id: { type: 'positional', description: 'Ids or names of sandboxes', required: false },
    all: flag('All that live, except those that pools keep ready'),
    ...WAIT_OPTION,
    ...JSON_OPTION,
  },
  repeatable: ['id'],
  async run({ io, args, repeated, connect }) {
    const given = repeated('id').map(idOrName);
    if (args.all === given.length > 0) throw usageError('give either sandboxes or --all');
    const within = waitSeconds(args.wait);
    const client = connect();
    const ids = args.all ? await livingIds(io, client) : given;
    const { signal } = waitSignal(io, within);
    // All get the request before the first is awaited.
    const asked = await Promise.allSettled(ids.map((id) => end(io, client, id)));
    let worst: ExitCode = EXIT.ok;
    for (const [n, id] of ids.entries()) {
      const code = await finish(io, client, asked[n], { id, within, signal, json: args.json }).catch(
        (error: unknown) => {
          if (ids.length === 1) throw error;
          reportError(io, error, { json: args.json });
          return exitCodeOf(error);
        },
      );
      if (worst === EXIT.ok) worst = code;
    }
    return worst;
  },
});

/** Returns the ids of claimed sandboxes: a pool would replace its own. */
async function livingIds(io: Io, client: MayflyClient): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of everyItem((page) => client.listSandboxes({ ...page, alive: true }), io.signal))
    ids.push(id);
  io.note(ids.length === 1 ? '1 sandbox lives' : `${ids.length} sandboxes live`);
  return ids;
}

interface Ending {
  record: Sandbox;
  /** Number of steps finished before the request. */
  printed: number;
}

async function end(io: Io, client: MayflyClient, idOrName: string): Promise<Ending> {
  const before = await client.getSandbox(idOrName, { signal: io.signal });
  const record = await client.destroySandbox(before.id, { waitSeconds: 0, signal: io.signal });
  return { record, printed: before.steps.length };
}

/** Waits for the proof of one sandbox, and prints it. */
async function finish(
  io: Io,
  client: MayflyClient,
  asked: PromiseSettledResult<Ending> | undefined,
  { id, within, signal, json }: { id: string; within: number; signal: AbortSignal; json: boolean },
): Promise<ExitCode> {
  if (asked?.status !== 'fulfilled') throw asked?.reason;
  const printer = new StepPrinter(io, asked.value.printed);
  const isOver = ({ state }: Sandbox) => isFinal(state);
  const record = await follow(client, asked.value.record, isOver, printer, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new CliError(
      io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
      io.signal.aborted ? `Stopped watching ${id}` : `${id} is not proved to be gone after ${within} s`,
      'its saga goes on removing it without anybody watching',
      `See what it waits for with \`mayfly sandbox get ${id}\`.`,
    );
  });
  if (json) io.printJson(record);
  else for (const line of sandboxLines(io, record)) io.print(line);
  return verdict(record);
}

export const sandboxCommand = nounCommand(
  {
    create: createCommand,
    list: listCommand,
    get: getCommand,
    wait: waitCommand,
    update: setCommand,
    delete: destroyCommand,
  },
  { update: ['set', 'extend'], delete: ['destroy'] },
);
