import type { ArgsDef, ParsedArgs } from 'citty';
import type { DesktopAction } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { flag, idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';

/** First argument of every desktop command. */
export const ID = { type: 'positional', description: 'Id or name of a sandbox', required: true } as const;

export const ACT_ARGS = { id: ID, ...JSON_OPTION } as const;

/** Defines a command that acts on a screen, and prints nothing unless JSON is requested. */
export function actCommand<const A extends ArgsDef>(spec: {
  description: string;
  args: A;
  action: (args: ParsedArgs<A>) => DesktopAction | Promise<DesktopAction>;
}) {
  return command({
    description: spec.description,
    args: { id: ID, ...spec.args },
    call: async ({ args, connect, options }) =>
      connect().desktop.act(idOrName(String(args['id'])), await spec.action(args as ParsedArgs<A>), options),
    print: () => [],
  });
}

/** Parses `640,400`. @throws CliError */
function parsePoint(text: string): { x: number; y: number } {
  const [, x, y] = /^(\d{1,5}),(\d{1,5})$/.exec(text) ?? [];
  const { max } = LIMITS.desktop.coordinate;
  if (x !== undefined && Number(x) <= max && Number(y) <= max) return { x: Number(x), y: Number(y) };
  throw usageError(`${JSON.stringify(text)} is no place`, 'Pixels from the left and the top, such as 640,400.');
}

const AT = {
  type: 'positional',
  description: 'Pixels from the left and the top, such as 640,400',
  required: true,
} as const;

export const moveCommand = actCommand({
  description: 'Move the pointer',
  args: { at: AT },
  action: (args) => ({ action: 'move', ...parsePoint(args.at) }),
});

export const clickCommand = actCommand({
  description: 'Click somewhere',
  args: {
    at: AT,
    right: flag('The right button'),
    middle: flag('The middle button'),
    double: flag('Twice'),
  },
  action(args) {
    if (args.right && args.middle) throw usageError('--right and --middle are two buttons');
    const other = args.middle ? 'middle' : 'left';
    const button = args.right ? 'right' : other;
    return { action: 'click', ...parsePoint(args.at), button, count: args.double ? 2 : 1 };
  },
});

export const dragCommand = actCommand({
  description: 'Drag from one place to another',
  args: { from: AT, to: AT },
  action(args) {
    const { x: toX, y: toY } = parsePoint(args.to);
    return { action: 'drag', ...parsePoint(args.from), toX, toY };
  },
});

export const scrollCommand = actCommand({
  description: 'Turn the wheel',
  args: {
    at: AT,
    down: { type: 'string', description: 'Steps of the wheel; less than 0 (--down=-3): up', default: '0' },
    right: { type: 'string', description: 'Steps of the wheel; less than 0: left', default: '0' },
  },
  action(args) {
    const [down, right] = [steps('down', args.down), steps('right', args.right)];
    return { action: 'scroll', ...parsePoint(args.at), down, right };
  },
});

function steps(name: string, text: string): number {
  const { min, max } = LIMITS.desktop.wheelSteps;
  const value = /^-?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}
