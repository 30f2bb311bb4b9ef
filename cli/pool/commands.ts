import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds, wholeNumber } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { mebibytes } from '../terminal/quantities.ts';
import { POOL_HEADER, poolLines, poolRow } from './pool-text.ts';

const NAME = { name: { type: 'positional', description: 'Name of a pool', required: true } } as const satisfies ArgsDef;
const SHARED = {
  shared: { type: 'boolean', description: 'The one that all projects share (operators)' },
} as const satisfies ArgsDef;
const ONE = { ...NAME, ...SHARED, ...JSON_OPTION } as const satisfies ArgsDef;
const SETTINGS = {
  ...NAME,
  source: { type: 'positional', description: 'Name of the golden VM (`mayfly source list`)', required: true },
  min: { type: 'string', description: 'Members that are kept however few are claimed', default: '1' },
  max: { type: 'string', description: 'Members at most (default: as many as --min)' },
  cpus: { type: 'string', description: "Virtual CPUs, else the source's" },
  memory: { type: 'string', valueHint: '512M', description: "Memory, such as 512M or 2G, else the source's" },
  egress: { type: 'enum', options: ['none', 'internet'], description: 'What the guests can reach (default: none)' },
  shared: { type: 'boolean', description: 'For all projects (operators)' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const REMOVAL = { ...NAME, ...SHARED, ...WAIT_OPTION, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly pool set|list|show|rm` */
export function poolCommand(io: Io) {
  return defineCommand({
    subCommands: { set: setPool(io), list: listPools(io), show: showPool(io), rm: removePool(io) },
  });
}

function setPool(io: Io) {
  return defineCommand({
    meta: { name: 'set', description: 'Keep sandboxes of a source ready, or change how many or which' },
    args: SETTINGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SETTINGS);
      const { poolMembers, cpus, memoryMib } = LIMITS;
      const min = wholeNumber('min', args.min, poolMembers.min, poolMembers.max);
      const settings = {
        source: args.source,
        min,
        max: args.max === undefined ? min : wholeNumber('max', args.max, poolMembers.min, poolMembers.max),
        ...(args.cpus && { cpus: wholeNumber('cpus', args.cpus, cpus.min, cpus.max) }),
        ...(args.memory && { memoryMib: mebibytes('memory', args.memory, memoryMib) }),
        ...(args.egress && { egress: args.egress }),
        ...(args.shared && { shared: true }),
      };
      const pool = await connect(io).pools.set(args.name, settings, { signal: io.signal });
      if (args.json) io.printJson(pool);
      else for (const line of poolLines(pool)) io.print(line);
      return EXIT.ok;
    },
  });
}

function listPools(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List pools' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { pools } = connect(io);
      await printList(io, args, { header: POOL_HEADER, row: poolRow }, (page) => pools.list(page));
      return EXIT.ok;
    },
  });
}

function showPool(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a pool, its members, and why there are too few' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const pool = await connect(io).pools.get(args.name, { shared: args.shared === true, signal: io.signal });
      if (args.json) io.printJson(pool);
      else for (const line of poolLines(pool)) io.print(line);
      return EXIT.ok;
    },
  });
}

function removePool(io: Io) {
  return defineCommand({
    meta: { name: 'rm', description: 'End a pool, and all of its members that nobody has claimed' },
    args: REMOVAL,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, REMOVAL);
      const options = { shared: args.shared === true, waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const pool = await connect(io).pools.delete(args.name, options);
      if (args.json) io.printJson(pool);
      else for (const line of poolLines(pool)) io.print(line);
      return pool.state === 'deleted' ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
