import { text as textOf } from 'node:stream/consumers';
import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments } from '../terminal/arguments.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS, acted, ID } from './act.ts';

const { json } = ACT_ARGS;

const TYPE = {
  id: ID,
  text: {
    type: 'positional',
    description: 'What to type; - for standard input, as for what nobody shall see',
    required: true,
  },
  json,
} as const satisfies ArgsDef;

const KEY = {
  id: ID,
  keys: { type: 'positional', description: 'Such as Enter, F5, ctrl+l or ctrl+shift+Tab', required: true },
  json,
} as const satisfies ArgsDef;

/** `mayfly desktop type` */
export function typeCommand(io: Io) {
  return defineCommand({
    meta: { name: 'type', description: 'Type a text into what has the focus' },
    args: TYPE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, TYPE);
      const text = args.text === '-' ? await textOf(process.stdin) : args.text;
      return acted(io, args, { action: 'type', text });
    },
  });
}

/** `mayfly desktop key` */
export function keyCommand(io: Io) {
  return defineCommand({
    meta: { name: 'key', description: 'Press a key, or some at once' },
    args: KEY,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, KEY);
      return acted(io, args, { action: 'key', keys: args.keys });
    },
  });
}
