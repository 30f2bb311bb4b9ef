import { type ArgsDef, defineCommand, type ParsedArgs, type SubCommandsDef } from 'citty';
import type { List, PageOptions } from '../../clients/typescript/http/resource.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, JSON_OPTION, type ProgramWords, WAIT_OPTION, waitSeconds, wholeNumber } from './arguments.ts';
import { EXIT } from './cli-error.ts';
import { connect } from './connection.ts';
import type { Io } from './io.ts';
import { LIST_OPTION, printList, type Table } from './list.ts';

/** Command with any arguments, as citty keeps subcommands. */
type AnyCommand = Awaited<Extract<SubCommandsDef[string], Promise<unknown>>>;

/** Makes a command that prints to the given outputs. */
type CommandFactory = (io: Io) => AnyCommand;

interface Invocation<A extends ArgsDef> {
  io: Io;
  args: ParsedArgs<A>;
  /** Words of the command line as given. */
  rawArgs: string[];
  /** Words after `--`, of a command that takes a program. */
  program: string[];
  /** Returns the values of a repeatable argument. */
  repeated: (name: string) => string[];
  /** Returns the client. @throws CliError when no installation is known */
  connect: () => MayflyClient;
  /** Options of a call of the client; with `--wait` if the command has `isDone`. */
  options: { signal: AbortSignal; waitSeconds?: number };
}

/** Maximum number of items in a list. */
const MAX_LIMIT = 100_000;
const LIMIT = { type: 'string', description: 'So many at most' } as const;

interface Described<A extends ArgsDef> {
  /** `@default` that of the catalog */
  description?: string;
  args?: A;
  /** Arguments that may be given more than once; also the last positional one, if it takes any number. */
  repeatable?: (keyof A & string)[];
  /** Checks the command line. `@default` it has no program */
  check?: (rawArgs: string[], definition: ArgsDef, repeatable: string[]) => ProgramWords;
}

interface ResultCommand<A extends ArgsDef, T> extends Described<A> {
  call: (invocation: Invocation<A>) => Promise<T>;
  /** Returns lines, or prints them; `--json` prints the result instead. */
  print: (io: Io, result: T, args: ParsedArgs<A>) => string | string[] | undefined;
  /** Adds `--wait`; false exits with 124. */
  isDone?: (result: T) => boolean;
  /** `@default` 0 */
  exit?: (result: T, io: Io, args: ParsedArgs<A>) => number;
}

interface CustomCommand<A extends ArgsDef> extends Described<A> {
  /** Prints its own output and returns the exit code; 0 when it returns none. */
  run: (invocation: Invocation<A>) => Promise<number | undefined>;
}

type Listed<T> = List<T> & { nextCursor?: string | null };
type PageReader<T> = (page: PageOptions) => Promise<Listed<T>>;

interface PagedCommand<A extends ArgsDef, T> extends Described<A> {
  table: Table<T>;
  /** Adds `--limit`, with this as its default. */
  limit?: number;
  /** Returns the reader of one page, or a list without pages. */
  read: (invocation: Invocation<A>) => PageReader<T> | Promise<PageReader<T> | Listed<T>>;
}

/** Defines a command that calls the API and prints the result: as JSON with `--json`. */
export function command<const A extends ArgsDef, T>(spec: ResultCommand<A, T>): CommandFactory {
  const { isDone, call, print, exit } = spec;
  return build(spec, { ...(isDone && WAIT_OPTION), ...JSON_OPTION }, async (invocation) => {
    const { io, args, options } = invocation;
    const wait = isDone && { waitSeconds: waitSeconds(String(args['wait'])) };
    const result = await call({ ...invocation, options: { ...options, ...wait } });
    if (args['json']) io.printJson(result);
    else for (const line of [print(io, result, args) ?? []].flat()) io.print(line);
    const code = exit?.(result, io, args) ?? EXIT.ok;
    return isDone && !isDone(result) ? EXIT.waitedTooLong : code;
  });
}

/** Defines a command that prints a list, all pages of it. */
export function pagedCommand<const A extends ArgsDef, T>(spec: PagedCommand<A, T>): CommandFactory {
  const { limit } = spec;
  const more = { ...(limit && { limit: { ...LIMIT, default: String(limit) } }), ...LIST_OPTION };
  return build(spec, more, async (invocation) => {
    const { json, quiet } = invocation.args;
    const reader = await spec.read(invocation);
    const read = typeof reader === 'function' ? reader : async () => reader;
    let left = limit ? wholeNumber('limit', String(invocation.args['limit']), 1, MAX_LIMIT) : Infinity;
    await printList(invocation.io, { json: json === true, quiet: quiet === true }, spec.table, async (page) => {
      const found = await read({ ...page, limit: Math.min(left, LIMITS.page.max) });
      left -= found.items.length;
      return { ...found, nextCursor: left > 0 ? (found.nextCursor ?? null) : null };
    });
  });
}

/** Defines a command whose output or exit code is its own: streams, prompts, programs. Its arguments are checked. */
export function customCommand<const A extends ArgsDef>(spec: CustomCommand<A>): CommandFactory {
  return build(spec, {}, spec.run);
}

function build<A extends ArgsDef>(
  { description, args, repeatable = [], check = checkWithoutProgram }: Described<A>,
  more: ArgsDef,
  run: CustomCommand<A>['run'],
): CommandFactory {
  const definition: ArgsDef = { ...args, ...more };
  return (io) =>
    defineCommand({
      ...(description !== undefined && { meta: { description } }),
      args: definition,
      async run(context) {
        const { program, repeated } = check(context.rawArgs, definition, repeatable);
        let client: MayflyClient | undefined;
        const code = await run({
          io,
          args: context.args as ParsedArgs<A>,
          rawArgs: context.rawArgs,
          program,
          repeated: (name) => repeated.get(name) ?? [],
          connect: () => (client ??= connect(io)),
          options: { signal: io.signal },
        });
        return code ?? EXIT.ok;
      },
    });
}

function checkWithoutProgram(rawArgs: string[], definition: ArgsDef, repeatable: string[]): ProgramWords {
  return { program: [], repeated: checkArguments(rawArgs, definition, repeatable) };
}

/** Aliases of verbs, below every noun that has the verb. */
const ALIASES = { list: ['ls'], get: ['show'], delete: ['rm'] } as const satisfies Record<string, readonly string[]>;

/** Defines the commands of a noun by verb. @param aliases aliases of some of its verbs */
export function nounCommand(
  verbs: Readonly<Record<string, CommandFactory>>,
  aliases: Readonly<Record<string, readonly string[]>> = {},
): CommandFactory {
  return (io) => {
    const subCommands: Record<string, AnyCommand> = {};
    for (const [verb, create] of Object.entries(verbs)) {
      const made = create(io);
      subCommands[verb] = { ...made, meta: { ...(made.meta as object), name: verb } };
    }
    const names: Record<string, readonly string[]> = ALIASES;
    for (const [verb, made] of Object.entries({ ...subCommands })) {
      for (const alias of [...(names[verb] ?? []), ...(aliases[verb] ?? [])]) {
        subCommands[alias] ??= { ...made, meta: { ...(made.meta as object), name: alias, hidden: true } };
      }
    }
    return defineCommand({ subCommands });
  };
}
