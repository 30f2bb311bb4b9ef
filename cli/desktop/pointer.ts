import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS, acted, ID, place } from './act.ts';

const AT = {
  type: 'positional',
  description: 'Pixels from the left and the top, such as 640,400',
  required: true,
} as const;
const { json } = ACT_ARGS;

const MOVE = { id: ID, at: AT, json } as const satisfies ArgsDef;

const CLICK = {
  id: ID,
  at: AT,
  right: { type: 'boolean', description: 'The right button', default: false },
  middle: { type: 'boolean', description: 'The middle button', default: false },
  double: { type: 'boolean', description: 'Twice', default: false },
  json,
} as const satisfies ArgsDef;

const DRAG = { id: ID, from: AT, to: AT, json } as const satisfies ArgsDef;

const SCROLL = {
  id: ID,
  at: AT,
  down: { type: 'string', description: 'Steps of the wheel; less than 0 (--down=-3): up', default: '0' },
  right: { type: 'string', description: 'Steps of the wheel; less than 0: left', default: '0' },
  json,
} as const satisfies ArgsDef;

/** `mayfly desktop move` */
export function moveCommand(io: Io) {
  return defineCommand({
    meta: { name: 'move', description: 'Move the pointer' },
    args: MOVE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, MOVE);
      return acted(io, args, { action: 'move', ...place(args.at) });
    },
  });
}

/** `mayfly desktop click` */
export function clickCommand(io: Io) {
  return defineCommand({
    meta: { name: 'click', description: 'Click somewhere' },
    args: CLICK,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, CLICK);
      if (args.right && args.middle) throw usageError('--right and --middle are two buttons');
      const other = args.middle ? 'middle' : 'left';
      const button = args.right ? 'right' : other;
      return acted(io, args, { action: 'click', ...place(args.at), button, count: args.double ? 2 : 1 });
    },
  });
}

/** `mayfly desktop drag` */
export function dragCommand(io: Io) {
  return defineCommand({
    meta: { name: 'drag', description: 'Drag from one place to another' },
    args: DRAG,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, DRAG);
      const { x: toX, y: toY } = place(args.to);
      return acted(io, args, { action: 'drag', ...place(args.from), toX, toY });
    },
  });
}

/** `mayfly desktop scroll` */
export function scrollCommand(io: Io) {
  return defineCommand({
    meta: { name: 'scroll', description: 'Turn the wheel' },
    args: SCROLL,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SCROLL);
      const [down, right] = [steps('down', args.down), steps('right', args.right)];
      return acted(io, args, { action: 'scroll', ...place(args.at), down, right });
    },
  });
}

function steps(name: string, text: string): number {
  const { min, max } = LIMITS.desktop.wheelSteps;
  const value = /^-?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}
