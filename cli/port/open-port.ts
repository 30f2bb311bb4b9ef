import type { ArgsDef } from 'citty';
import type { Port } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { flag, idOrName, positional, seconds, wholeNumber } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { forwardCommand } from './forward.ts';

const ID = { id: positional('Id or name of a sandbox') };
const ONE = {
  ...ID,
  port: positional('TCP port of the sandbox'),
};
const TTL = {
  ttl: { type: 'string', valueHint: 'duration', description: 'How long the token is good', default: '1h' },
} as const satisfies ArgsDef;
const HEADER = ['PORT', 'VISIBILITY', 'HOST', 'CORS', 'WAKE', 'OPENED', 'URL'];

/** `mayfly port open`: gives a program of a sandbox a URL, with a token if required. */
export const openCommand = command({
  description: 'Open a port of a sandbox for HTTP, at a URL of its own',
  args: {
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
    cors: flag('Let pages of any origin read its answers'),
    wake: flag('Let a request resume the sandbox'),
  },
  async call({ args, connect, options }) {
    const { visibility, host, cors, wake } = args;
    const target = { id: idOrName(args.id), port: portNumber(args.port) };
    const ttl = seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds);
    const { ports } = connect();
    const opened = await ports.open(target.id, target.port, { visibility, host, cors, wake }, options);
    const issued = visibility === 'token' ? await ports.issueToken(target.id, target.port, ttl, options) : null;
    return { ...opened, token: issued };
  },
  print: (_io, { token, url }) => token?.url ?? url,
  exit({ token, port }, io) {
    if (token) io.note(`good until ${token.expiresAt}; whoever has it may use port ${port}`);
    else io.note('send an API key of the project in the header X-Mayfly-Key');
    return EXIT.ok;
  },
});

export const listCommand = pagedCommand({
  description: 'List the ports of a sandbox that are open for HTTP',
  args: ID,
  table: { header: HEADER, row },
  read({ args, connect, options }) {
    const id = idOrName(args.id);
    return async () => ({ items: await connect().ports.list(id, options) });
  },
});

export const closeCommand = command({
  description: 'Close a port: what goes through it ends, and its tokens are void',
  args: ONE,
  async call({ args, connect, options }) {
    const port = portNumber(args.port);
    await connect().ports.close(idOrName(args.id), port, options);
    return { port, isOpen: false };
  },
  print: (_io, { port }, args) => `Port ${port} of ${args.id} is closed.`,
});

/** `mayfly port token`: issues another token of a port, or voids all. */
export const tokenCommand = command({
  description: 'Issue a token of a port, or void all of them',
  args: {
    ...ONE,
    ...TTL,
    void: flag('Issue none, and void all that were issued'),
  },
  async call({ args, connect, options }) {
    const id = idOrName(args.id);
    const port = portNumber(args.port);
    const { ports } = connect();
    if (!args.void) return ports.issueToken(id, port, seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds), options);
    await ports.voidTokens(id, port, options);
    return { port, isVoid: true };
  },
  print: (_io, issued, { id, port }) =>
    'url' in issued ? issued.url : `All tokens of port ${Number(port)} of ${id} are void.`,
});

function portNumber(text: string): number {
  return wholeNumber('port', text, 1, 65_535);
}

function row({ port, visibility, host, cors, wake, openedAt, url }: Port): string[] {
  const formatToken = (is: boolean) => (is ? 'yes' : 'no');
  return [String(port), visibility, host, formatToken(cors), formatToken(wake), openedAt, url];
}

export const portCommand = nounCommand({
  forward: forwardCommand,
  open: openCommand,
  list: listCommand,
  token: tokenCommand,
  close: closeCommand,
});
