import { writeFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { LIMITS } from '../../model/limits.ts';
import { flag, idOrName, positional, seconds } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand } from '../terminal/command.ts';
import { columns } from '../terminal/io.ts';
import { ACT_ARGS, actCommand, clickCommand, dragCommand, ID, moveCommand, scrollCommand } from './pointer.ts';

export const desktopCommand = nounCommand({
  screenshot: customCommand({
    description: 'Write the screen to a PNG file',
    args: {
      ...ACT_ARGS,
      output: {
        type: 'string',
        alias: 'o',
        valueHint: 'file',
        description: 'Where to write the PNG; - for standard output',
      },
    },
    async run({ io, args, connect, options }) {
      if (!args.output) throw usageError('say where to write it', '-o page.png');
      const png = await connect().desktop.screenshot(idOrName(args.id), options);
      if (args.output === '-') {
        await io.write('stdout', png);
        return EXIT.ok;
      }
      try {
        await writeFile(args.output, png);
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new CliError(EXIT.failed, 'The picture cannot be written', why, 'Give -o another file.');
      }
      if (args.json) io.printJson({ file: args.output, bytes: png.length });
      else io.note(`${args.output}: ${png.length} bytes`);
      return EXIT.ok;
    },
  }),
  windows: command({
    description: 'Show the windows, the pointer and the size of the screen',
    args: ACT_ARGS,
    call: ({ args, connect, options }) => connect().desktop.look(idOrName(args.id), options),
    print(io, state) {
      const { width, height, pointer, windows } = state;
      io.note(`screen ${width}x${height}, pointer at ${pointer.x},${pointer.y}`);
      const rows = windows.map((one) => [
        one.id,
        `${one.x},${one.y}`,
        `${one.width}x${one.height}`,
        one.isActive ? 'yes' : '',
        one.class,
        one.title,
      ]);
      for (const line of columns(['ID', 'AT', 'SIZE', 'ACTIVE', 'CLASS', 'TITLE'], rows)) io.print(line);
    },
  }),
  open: customCommand({
    description: 'Open an address in the browser, or start a program, which stays',
    args: {
      id: ID,
      what: { type: 'positional', description: 'An address (https://…), or a program and its arguments' },
      json: ACT_ARGS.json,
    },
    repeatable: ['what'],
    async run({ io, args, repeated, connect, options }) {
      const words = repeated('what');
      const [first] = words;
      if (first === undefined) throw usageError('say what to open', 'An address, or a program and its arguments.');
      const isAddress = words.length === 1 && /^(?:https?|file):\/\//.test(first);
      const what = isAddress ? { url: first } : { argv: words };
      const command = await connect().desktop.open(idOrName(args.id), what, options);
      if (args.json) io.printJson(command);
      return command.exitCode === 0 || command.exitCode === null ? EXIT.ok : EXIT.failed;
    },
  }),
  click: clickCommand,
  move: moveCommand,
  drag: dragCommand,
  scroll: scrollCommand,
  type: actCommand({
    description: 'Type a text into what has the focus',
    args: { text: positional('What to type; - for standard input, as for what nobody shall see') },
    async action(args) {
      const text = args.text === '-' ? await textOf(process.stdin) : args.text;
      return { action: 'type', text };
    },
  }),
  key: actCommand({
    description: 'Press a key, or some at once',
    args: { keys: positional('Such as Enter, F5, ctrl+l or ctrl+shift+Tab') },
    action: (args) => ({ action: 'key', keys: args.keys }),
  }),
  stream: command({
    description: 'A URL and a password with which the screen is seen in a browser',
    args: {
      ...ACT_ARGS,
      ttl: { type: 'string', valueHint: 'duration', description: 'How long the URL is good', default: '1h' },
      control: flag('Whoever sees it may use it too'),
    },
    async call({ args, connect, options }) {
      const id = idOrName(args.id);
      const wish = {
        mode: args.control ? ('control' as const) : ('view' as const),
        ttlSeconds: seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds),
      };
      return connect().desktop.stream(id, wish, options);
    },
    print(io, stream, args) {
      io.print(`browser   ${stream.url}`);
      io.print(`password  ${stream.password}`);
      const may = args.control ? 'uses' : 'sees';
      io.note(`good until ${stream.expiresAt}; whoever has both ${may} the screen`);
    },
  }),
});
