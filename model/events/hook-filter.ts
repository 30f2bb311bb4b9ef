import type { ReceivedEvent } from './cloud-event.ts';
import { scalarAt } from './json-pointer.ts';

/** What stands at a JSON Pointer (RFC 6901) into the data of an event, and may be there. */
interface HookCondition {
  pointer: string;
  /** JSON texts of strings, numbers and words, each as {@link scalarAt} has it. */
  in: string[];
}

/** Which events of a hook are run: those of which all of this holds. */
export interface HookFilter {
  /** Types of CloudEvents; null: any. */
  types: string[] | null;
  conditions: HookCondition[];
}

/** Whether an event is to be run. Data that is not JSON has nothing at any pointer. */
export function passesFilter({ types, conditions }: HookFilter, event: ReceivedEvent): boolean {
  if (types !== null && !types.includes(event.attributes.type)) return false;
  return conditions.every(({ pointer, in: values }) => {
    const text = scalarAt(event, pointer);
    return values.some((each) => each === text);
  });
}
