import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import { temporalClient } from '../payloads/data-converter.ts';
import { type Check, fault, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/** Maximum number of newest sandboxes that are checked: each is a request to Temporal. */
const MAX_CHECKED = 500;
/** Concurrent requests. */
const CONCURRENCY = 20;
/**
 * A workflow task that a worker's end cut off is at its second attempt; one at its third fails for a reason of its own.
 */
const FAILING_ATTEMPTS = 3;
/** Age below which a sandbox may have no workflow yet, ms: the API writes the record first. */
const GRACE_MS = 60_000;

/** Checks that each living sandbox has a workflow that will end it and can make progress. */
export function runsProbe(surroundings: ProbeContext): Probe {
  return {
    name: 'runs',
    remedy: 'First mend Temporal and the store.',
    look: async () => {
      const [connection, store] = await Promise.all([surroundings.temporal(), surroundings.store()]);
      const client = temporalClient({
        connection,
        dataConverter: {}, // only states are read, also without the payload key
        namespace: surroundings.config.temporalNamespace,
      });
      const alive = (await store.sandboxes.all(OPEN_STATES)).filter(
        ({ createdAt }) => Date.now() - Date.parse(createdAt) > GRACE_MS,
      );
      const looked = alive.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, MAX_CHECKED);
      const found: Check[] = [];
      for (let at = 0; at < looked.length; at += CONCURRENCY) {
        const some = await Promise.all(
          looked.slice(at, at + CONCURRENCY).map((record) => checkSandbox(client, record)),
        );
        found.push(...some.flat());
      }
      const unseen =
        alive.length > looked.length ? `; ${alive.length - looked.length} older ones were not looked at` : '';
      return found.length > 0
        ? found
        : [passed('runs', `each of ${looked.length} sandboxes has its workflow${unseen}`)];
    },
  };
}

async function checkSandbox(client: Client, record: SandboxRecord): Promise<Check[]> {
  const { id } = record;
  try {
    return judgeRun(record, await client.workflow.getHandle(sandboxWorkflowId(id)).describe());
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    return judgeRun(record, null);
  }
}

/** @param run null: Temporal has none */
function judgeRun(
  { id, state }: Pick<SandboxRecord, 'id' | 'state'>,
  run: Pick<WorkflowExecutionDescription, 'status' | 'raw'> | null,
): Check[] {
  if (run?.status.name !== 'RUNNING') {
    const is = run ? `has ended (${run.status.name})` : 'is not there';
    const found = `its record says ${state}, but its workflow ${is}: nothing will end it`;
    return [fault(`run of ${id}`, found, `mayfly sandbox destroy ${id}`)];
  }
  const attempt = Number(run.raw.pendingWorkflowTask?.attempt ?? 0);
  if (attempt < FAILING_ATTEMPTS) return [];
  const found = `its workflow task fails, and is tried for the ${attempt}th time: this code cannot go on with its history`;
  const remedy = `Go back to the version that ran before, or forward again; why: \`temporal workflow show -w sandbox/${id}\`.`;
  return [fault(`run of ${id}`, found, remedy)];
}
