import { type ArgsDef, defineCommand } from 'citty';
import type { OpenPort } from '../../client/sandbox/ports.ts';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, idOrName, JSON_OPTION, wholeNumber } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { seconds } from '../terminal/quantities.ts';

const ID = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
} as const satisfies ArgsDef;
const ONE = {
  ...ID,
  port: { type: 'positional', description: 'TCP port of the sandbox', required: true },
} as const satisfies ArgsDef;
const TTL = {
  ttl: { type: 'string', valueHint: 'duration', description: 'How long the token is good', default: '1h' },
} as const satisfies ArgsDef;
const OPEN = {
  ...ONE,
  ...TTL,
  visibility: {
    type: 'enum',
    options: ['token', 'project'],
    description: 'Who may use it: who has a token, or a key of its project',
    default: 'token',
  },
  host: {
    type: 'enum',
    options: ['localhost', 'preserve'],
    description: 'Which Host the program is told',
    default: 'localhost',
  },
  cors: { type: 'boolean', description: 'Let pages of any origin read its answers', default: false },
  wake: { type: 'boolean', description: 'Let a request resume the sandbox', default: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const TOKEN = {
  ...ONE,
  ...TTL,
  void: { type: 'boolean', description: 'Issue none, and void all that were issued', default: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const CLOSE = { ...ONE, ...JSON_OPTION } as const satisfies ArgsDef;
const LIST = { ...ID, ...LIST_OPTION } as const satisfies ArgsDef;
const HEADER = ['PORT', 'VISIBILITY', 'HOST', 'CORS', 'WAKE', 'OPENED', 'URL'];

/** `mayfly port open`: a URL for a program of a sandbox, with a token where it needs one. */
export function openCommand(io: Io) {
  return defineCommand({
    meta: { name: 'open', description: 'Open a port of a sandbox for HTTP, at a URL of its own' },
    args: OPEN,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, OPEN);
      const { visibility, host, cors, wake } = args;
      const target = { id: idOrName(args.id), port: portNumber(args.port) };
      const ttl = seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds);
      const { ports } = connect(io);
      const call = { signal: io.signal };
      const opened = await ports.open(target.id, target.port, { visibility, host, cors, wake }, call);
      const issued = visibility === 'token' ? await ports.issueToken(target.id, target.port, ttl, call) : null;
      if (args.json) io.printJson({ ...opened, token: issued });
      else io.print(issued?.url ?? opened.url);
      if (issued) io.note(`good until ${issued.expiresAt}; whoever has it may use port ${opened.port}`);
      else io.note('send an API key of the project in the header X-Mayfly-Key');
      return EXIT.ok;
    },
  });
}

export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the ports of a sandbox that are open for HTTP' },
    args: LIST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST);
      const id = idOrName(args.id);
      const { ports } = connect(io);
      const read = async () => ({ items: await ports.list(id, { signal: io.signal }), nextCursor: null });
      await printList(io, args, { header: HEADER, row }, read);
      return EXIT.ok;
    },
  });
}

export function closeCommand(io: Io) {
  return defineCommand({
    meta: { name: 'close', description: 'Close a port: what goes through it ends, and its tokens are void' },
    args: CLOSE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, CLOSE);
      const port = portNumber(args.port);
      await connect(io).ports.close(idOrName(args.id), port, { signal: io.signal });
      if (args.json) io.printJson({ port, isOpen: false });
      else io.print(`Port ${port} of ${args.id} is closed.`);
      return EXIT.ok;
    },
  });
}

/** `mayfly port token`: another token of a port, or none any more. */
export function tokenCommand(io: Io) {
  return defineCommand({
    meta: { name: 'token', description: 'Issue a token of a port, or void all of them' },
    args: TOKEN,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, TOKEN);
      const id = idOrName(args.id);
      const port = portNumber(args.port);
      const { ports } = connect(io);
      const call = { signal: io.signal };
      if (args.void) {
        await ports.voidTokens(id, port, call);
        if (args.json) io.printJson({ port, isVoid: true });
        else io.print(`All tokens of port ${port} of ${id} are void.`);
        return EXIT.ok;
      }
      const issued = await ports.issueToken(id, port, seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds), call);
      if (args.json) io.printJson(issued);
      else io.print(issued.url);
      return EXIT.ok;
    },
  });
}

function portNumber(text: string): number {
  return wholeNumber('port', text, 1, 65_535);
}

function row({ port, visibility, host, cors, wake, openedAt, url }: OpenPort): string[] {
  const said = (is: boolean) => (is ? 'yes' : 'no');
  return [String(port), visibility, host, said(cors), said(wake), openedAt, url];
}
