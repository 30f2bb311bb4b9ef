import { randomUUID } from 'node:crypto';
import type { ArgsDef, ParsedArgs } from 'citty';
import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { CreateOneSandbox, MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { idleAction, requestedBoot } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import {
  captureId,
  idOrName,
  mebibytes,
  option,
  positional,
  sandboxName,
  seconds,
  WAIT_OPTION,
  waitSeconds,
  wholeNumber,
} from '../terminal/arguments.ts';
import { CliError, EXIT, exitCodeOfCode, usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { follow, StepPrinter, sandboxLines, waitSignal } from './sandbox-text.ts';

/** Source with Python, Node.js, git and compilers; `mayfly image pull agent` builds it. */
const AGENT_SOURCE = 'golden-agent';
/** Source that `npm run setup` builds. */
const PLAIN_SOURCE = 'golden-debian12';

const ARGS = {
  source: {
    type: 'positional',
    description: `Name of the golden VM (\`mayfly source list\`), else ${AGENT_SOURCE} where it is, else ${PLAIN_SOURCE}`,
    required: false,
  },
  name: option('Of no other that lives; stands for its id in every command'),
  capture: option('Capture of a running source, else its newest (`mayfly capture list`)'),
  cpus: option("Virtual CPUs, else the source's"),
  memory: option("Memory, such as 512M or 2G, else the source's", '512M'),
  'memory-mib': option('The same in MiB', 'MiB'),
  ttl: option('When it ends by itself, such as 90s or 1h30m (server default: 1h)', '1h'),
  idle: option('How long it may be unused until it ends by itself', '15m'),
  'on-idle': {
    type: 'enum',
    options: [...idleAction.options],
    description: 'What is done then (server default: destroy)',
  },
  'auto-resume': { type: 'boolean', description: 'Resume it when it is used while paused or hibernated' },
  egress: {
    type: 'enum',
    options: ['none', 'internet'],
    description: 'What the guest can reach (server default: none)',
  },
  boot: {
    type: 'enum',
    options: [...requestedBoot.options],
    description: 'Wake from a template, boot, or what is quickest (server default: auto)',
  },
  agent: option('Which agent it is for; kept in the audit'),
  metadata: option('May be given more than once', 'key=value'),
  'idempotency-key': option('The same key makes one sandbox, however often it is sent'),
  ...WAIT_OPTION,
} as const satisfies ArgsDef;

type CreateArgs = ParsedArgs<typeof ARGS>;

function requestFrom(args: CreateArgs, metadata: string[]): Omit<CreateOneSandbox, 'source'> {
  const { cpus, ttlSeconds, idleSeconds } = LIMITS;
  return {
    ...(args.name !== undefined && { name: sandboxName(args.name) }),
    ...(args.capture && { captureId: captureId(args.capture) }),
    ...(args.cpus && { cpus: wholeNumber('cpus', args.cpus, cpus.min, cpus.max) }),
    ...memoryFrom(args),
    ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, ttlSeconds) }),
    ...(args.idle && { idleSeconds: seconds('idle', args.idle, idleSeconds) }),
    ...(args['on-idle'] && { onIdle: args['on-idle'] }),
    ...(args['auto-resume'] && { autoResume: true }),
    ...(args.egress && { network: { egress: args.egress } }),
    ...(args.boot && { boot: args.boot }),
    ...(args.agent && { agentId: args.agent }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata.map(pairOf)) }),
  };
}

function memoryFrom({ memory, 'memory-mib': mib }: CreateArgs): { memoryMib?: number } {
  if (memory && mib) throw usageError('--memory and --memory-mib are the same; give one of them');
  if (memory) return { memoryMib: mebibytes('memory', memory, LIMITS.memoryMib) };
  return mib ? { memoryMib: wholeNumber('memory-mib', mib, LIMITS.memoryMib.min, LIMITS.memoryMib.max) } : {};
}

function pairOf(text: string): [string, string] {
  const [key, ...rest] = text.split('=');
  if (!key || rest.length === 0) throw usageError(`--metadata must be key=value, not ${JSON.stringify(text)}`);
  return [key, rest.join('=')];
}

async function defaultSource(io: Io, client: MayflyClient): Promise<string> {
  const { items } = await client.listSources({ signal: io.signal });
  return items.some(({ name }) => name === AGENT_SOURCE) ? AGENT_SOURCE : PLAIN_SOURCE;
}

/** Requests the create; after a Ctrl-C before the answer, explains how to repeat it. */
async function requestCreate(
  io: Io,
  client: MayflyClient,
  request: CreateOneSandbox,
  idempotencyKey: string,
): Promise<Sandbox> {
  try {
    return await client.createSandbox(request, { waitSeconds: 0, idempotencyKey, signal: io.signal });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    throw new CliError(
      EXIT.interrupted,
      'Interrupted before the API answered',
      'whether the sandbox is being made is not known here',
      `Ask again with --idempotency-key ${idempotencyKey}: it is made once. Or see \`mayfly sandbox list\`.`,
    );
  }
}

/** `mayfly sandbox create`: the workflow continues even if this process ends. */
export const createCommand = command({
  description: 'Make a sandbox and wait until SSH is verified',
  args: ARGS,
  repeatable: ['metadata'],
  async call({ io, args, repeated, connect }) {
    const metadata = repeated('metadata');
    const createOptions = requestFrom(args, metadata);
    const within = waitSeconds(args.wait);
    const client = connect();
    const source = args.source ?? (await defaultSource(io, client));
    const request = { source, ...createOptions };
    const accepted = await requestCreate(io, client, request, args['idempotency-key'] ?? randomUUID());
    io.note(`${accepted.id} from ${io.paint('bold', source)}`);
    const { signal } = waitSignal(io, within);
    const record = await follow(client, accepted, isSettled, new StepPrinter(io), signal).catch((error: unknown) => {
      throw signal.aborted ? stillGoing(io, accepted, within) : error;
    });
    return record;
  },
  print: sandboxLines,
  exit(record) {
    if (record.failure) return exitCodeOfCode(record.failure.code);
    return record.state === 'running' ? EXIT.ok : EXIT.failed;
  },
});

function isSettled(record: Sandbox): boolean {
  return record.state === 'running' || isFinal(record.state);
}

/** `mayfly sandbox wait`: attaches to a running operation, such as a create whose command line was ended. */
export const waitCommand = command({
  description: 'Wait until a sandbox runs, or has ended',
  args: {
    id: positional('Id or name of a sandbox'),
    for: { type: 'enum', options: ['running', 'ended'], description: 'What is waited for', default: 'running' },
    ...WAIT_OPTION,
  },
  async call({ io, args, connect, options }) {
    const within = waitSeconds(args.wait);
    const client = connect();
    const first = await client.getSandbox(idOrName(args.id), options);
    const { signal } = waitSignal(io, within);
    const isReached = ({ state }: Sandbox) => isFinal(state) || (args.for === 'running' && state === 'running');
    return follow(client, first, isReached, new StepPrinter(io), signal).catch((error: unknown) => {
      throw signal.aborted ? stillGoing(io, first, within) : error;
    });
  },
  print: sandboxLines,
  exit(record, _io, args) {
    if (args.for === 'ended' || record.state === 'running') return EXIT.ok;
    return record.failure ? exitCodeOfCode(record.failure.code) : EXIT.failed;
  },
});

/** Returns the error for an ended wait, with the command that attaches again. */
function stillGoing(io: Io, { id }: Sandbox, seconds: number): CliError {
  return new CliError(
    io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
    io.signal.aborted ? `Stopped watching ${id}` : `${id} is not there after ${seconds} s`,
    'its saga goes on without anybody watching',
    `Wait on with \`mayfly sandbox wait ${id}\`; end it with \`mayfly sandbox destroy ${id}\`.`,
  );
}
