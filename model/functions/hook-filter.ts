import type { ReceivedEvent } from '../events/cloud-event.ts';
import { valueAt } from './json-pointer.ts';

/** What stands at a JSON Pointer (RFC 6901) into the data of an event, and may be there. */
export interface HookCondition {
  pointer: string;
  in: (string | number | boolean | null)[];
}

/** Which events of a hook are run: those of which all of this holds. */
export interface HookFilter {
  /** Types of CloudEvents; null: any. */
  types: string[] | null;
  conditions: HookCondition[];
}

/** Whether an event is to be run. Data that is not JSON has nothing at any pointer. */
export function passesFilter(
  { types, conditions }: HookFilter,
  { attributes, data }: Pick<ReceivedEvent, 'attributes' | 'data'>,
): boolean {
  if (types !== null && !types.includes(attributes.type)) return false;
  return conditions.every(({ pointer, in: values }) => {
    const value = valueAt(data, pointer);
    return values.some((each) => each === value);
  });
}
