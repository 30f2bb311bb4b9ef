import { z } from 'zod';
import { LIMITS } from '../../model/limits.ts';
import { whole } from '../../model/request-fields.ts';
import { chordOf } from './keysyms.ts';

const { coordinate, textLength, wheelSteps } = LIMITS.desktop;

const pixels = () => whole(coordinate, 'pixels');
const place = { x: pixels(), y: pixels() };
const button = z.enum(['left', 'middle', 'right']).default('left');
const steps = whole(wheelSteps, 'steps').default(0);
/** Of what a keyboard can say: no other control characters, and whole characters. */
const TYPED = /^(?:[\t\n\r]|[^\p{Cc}\p{Cs}])*$/u;

const typed = z
  .string()
  .min(1, 'must have at least 1 character')
  .max(textLength, `must have at most ${textLength} characters`)
  .regex(TYPED, 'must have no control characters but tabs and ends of lines, and be well-formed Unicode')
  .meta({ pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$' });

const chord = z
  .string()
  .max(64)
  .refine((text) => chordOf(text) !== null, 'must be up to 5 keys, such as Enter, F5, ctrl+l or ctrl+shift+Tab')
  .meta({ example: 'ctrl+l' });

export const desktopAction = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('move'), ...place }),
    z.strictObject({ action: z.literal('click'), ...place, button, count: z.int().min(1).max(3).default(1) }),
    z.strictObject({ action: z.literal('drag'), ...place, toX: pixels(), toY: pixels(), button }),
    z.strictObject({ action: z.literal('scroll'), ...place, down: steps, right: steps }),
    z.strictObject({ action: z.literal('key'), keys: chord }),
    z.strictObject({ action: z.literal('type'), text: typed }),
  ])
  .meta({ id: 'DesktopAction' });
export type DesktopAction = z.output<typeof desktopAction>;
