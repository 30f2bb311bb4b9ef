import type { ReceivedEvent } from './cloud-event.ts';
import { getScalarText } from './json-pointer.ts';

/** Allowed values at a JSON Pointer (RFC 6901) into an event's data. */
interface HookCondition {
  pointer: string;
  /** JSON texts of strings, numbers and literals in the form of {@link getScalarText}. */
  in: string[];
}

/** Filter of a hook's events; all conditions must hold. */
export interface HookFilter {
  /** Types of CloudEvents; null: any. */
  types: string[] | null;
  conditions: HookCondition[];
}

/** True when an event may start a run. Data that is not JSON matches no condition. */
export function matchesFilter({ types, conditions }: HookFilter, event: ReceivedEvent): boolean {
  if (types !== null && !types.includes(event.attributes.type)) return false;
  return conditions.every(({ pointer, in: values }) => {
    const text = getScalarText(event, pointer);
    return values.some((each) => each === text);
  });
}
