import { ERRORS } from '../../model/errors.ts';
import type { Scan } from '../../store/sealed/scan.ts';
import { type Check, fault, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/** Time limit of the scan, ms: below a probe's timeout. */
const SCAN_MS = 5_000;
const NAME = 'records';

/** Reads each record of the store that has encrypted fields. */
export function recordsProbe(surroundings: ProbeContext): Probe {
  return {
    name: NAME,
    remedy: 'First mend the store, and run this where its key is.',
    look: async () => judgeRecords(await (await surroundings.store()).scanRecords(SCAN_MS)),
  };
}

export function judgeRecords({ records, unreadable, isComplete }: Scan): Check[] {
  const rest = isComplete ? '' : `; the others were not read: ${SCAN_MS / 1_000} s were over`;
  if (unreadable.length === 0) return [passed(NAME, `each of ${records} can be read${rest}`)];
  return unreadable.map(({ id, problem }) => fault(`record ${id}`, problem, ERRORS.record_damaged.remedy));
}
