import { LIMITS } from '../../model/limits.ts';
import { flag } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { actCommand, place } from './act.ts';

const AT = {
  type: 'positional',
  description: 'Pixels from the left and the top, such as 640,400',
  required: true,
} as const;

/** `mayfly desktop move` */
export const moveCommand = actCommand({
  description: 'Move the pointer',
  args: { at: AT },
  action: (args) => ({ action: 'move', ...place(args.at) }),
});

/** `mayfly desktop click` */
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
    return { action: 'click', ...place(args.at), button, count: args.double ? 2 : 1 };
  },
});

/** `mayfly desktop drag` */
export const dragCommand = actCommand({
  description: 'Drag from one place to another',
  args: { from: AT, to: AT },
  action(args) {
    const { x: toX, y: toY } = place(args.to);
    return { action: 'drag', ...place(args.from), toX, toY };
  },
});

/** `mayfly desktop scroll` */
export const scrollCommand = actCommand({
  description: 'Turn the wheel',
  args: {
    at: AT,
    down: { type: 'string', description: 'Steps of the wheel; less than 0 (--down=-3): up', default: '0' },
    right: { type: 'string', description: 'Steps of the wheel; less than 0: left', default: '0' },
  },
  action(args) {
    const [down, right] = [steps('down', args.down), steps('right', args.right)];
    return { action: 'scroll', ...place(args.at), down, right };
  },
});

function steps(name: string, text: string): number {
  const { min, max } = LIMITS.desktop.wheelSteps;
  const value = /^-?\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}
