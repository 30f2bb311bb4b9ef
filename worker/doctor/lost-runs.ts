import { RUN_WORKFLOW } from '../../model/functions/run-saga.ts';
import { isRunId } from '../../model/ids.ts';
import type { Store } from '../../store/connect.ts';
import { temporalClient } from '../payloads/data-converter.ts';
import { type Check, note, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/**
 * Maximum number of newest runs in Temporal that are checked. The store keeps a run longer than Temporal does
 * (model/limits.ts).
 */
const MAX_CHECKED = 1_000;
/** Concurrent requests. */
const CONCURRENCY = 20;
/** Maximum number of lost runs in the report. */
const MAX_LISTED = 10;
const NAME = 'lost runs';

/**
 * Finds runs that Temporal has and the store does not: the store was restored from a backup, and later runs are lost.
 */
export function lostRunsProbe(surroundings: ProbeContext): Probe {
  return {
    name: NAME,
    remedy: 'First mend Temporal and the store.',
    look: async () => {
      const [connection, store] = await Promise.all([surroundings.temporal(), surroundings.store()]);
      const { temporalNamespace: namespace } = surroundings.config;
      const client = temporalClient({ connection, dataConverter: {}, namespace }); // ids and times are not encrypted
      const known: KnownRun[] = [];
      for await (const { workflowId, startTime } of client.workflow.list({
        query: `WorkflowType = "${RUN_WORKFLOW}"`,
      })) {
        const id = workflowId.slice(workflowId.indexOf('/') + 1);
        if (isRunId(id)) known.push({ id, begunAt: startTime.toISOString() });
        if (known.length >= MAX_CHECKED) break;
      }
      return [judgeLost(known.length, await findLost(store, known))];
    },
  };
}

interface KnownRun {
  id: string;
  begunAt: string;
}

async function findLost({ runs }: Pick<Store, 'runs'>, known: readonly KnownRun[]): Promise<KnownRun[]> {
  const lost: KnownRun[] = [];
  for (let at = 0; at < known.length; at += CONCURRENCY) {
    const some = known.slice(at, at + CONCURRENCY);
    const found = await runs.ends(some.map(({ id }) => id));
    lost.push(...some.filter(({ id }) => !found.has(id)));
  }
  return lost;
}

function judgeLost(known: number, lost: readonly KnownRun[]): Check {
  if (lost.length === 0) return passed(NAME, `the store has each of the ${known} runs that Temporal knows`);
  const [first] = lost.map(({ begunAt }) => begunAt).sort();
  const named = lost.slice(0, MAX_LISTED).map(({ id }) => id);
  const more = lost.length > MAX_LISTED ? ` and ${lost.length - MAX_LISTED} more` : '';
  const found = `the store was set back: it knows nothing of ${named.join(', ')}${more}, begun since ${first}; their events are lost, and those that were accepted since and not begun`;
  return note(
    NAME,
    found,
    'Have what matters sent again by who sent it. What ran is destroyed and proved; this is said until Temporal forgets those runs.',
  );
}
