import { currentUpdateInfo, setHandler, workflowInfo } from '@temporalio/workflow';
import type { SpecUpdate } from '../../model/sagas/messages.ts';
import { isUnclaimed } from '../../model/sandbox/sandbox-state.ts';
import { refusal } from '../saga/failure.ts';
import { patch } from '../saga/messages.ts';
import type { SandboxEntity } from './entity.ts';

/** Number of update ids kept: a caller without an answer retries within ten seconds, then temporal/ gives up. */
const MAX_UPDATE_IDS = 200;
/**
 * History above which spec updates are refused. Temporal's limits are 51,200 events, 50 MiB and 2,000 updates; the run
 * continues as new long before, but not during an operation, which updates must not cut off.
 */
const MAX_HISTORY = { events: 20_000, bytes: 20 * 2 ** 20 };

/** Updates the spec in every state, one update at a time, so none is lost to another or to a deadline. */
export function handleSpecUpdates(entity: SandboxEntity): void {
  const update = async (wanted: SpecUpdate) => {
    const at = Date.now();
    await entity.begun;
    await entity.inbox.run(() => updateOnce(entity, wanted, at));
    return null;
  };
  const validator = (_wanted: SpecUpdate) => {
    entity.checkOpen();
    check(entity);
  };
  setHandler(patch, update, { validator });
}

/** @throws ApplicationFailure why it is refused now */
function check(entity: SandboxEntity): void {
  const { id, record } = entity;
  const { historyLength, historySize } = workflowInfo();
  entity.checkLiving();
  if (isUnclaimed(record)) throw refusal('sandbox_not_running', `${id} is a pool's, and nobody has claimed it.`);
  if (historyLength <= MAX_HISTORY.events && historySize <= MAX_HISTORY.bytes) return;
  throw refusal('sandbox_busy', `${id} takes no more changes until what is under way has ended.`);
}

async function updateOnce(entity: SandboxEntity, { actor, ...changes }: SpecUpdate, at: number): Promise<void> {
  const { state, record } = entity;
  const updateId = currentUpdateInfo()?.id;
  if (updateId !== undefined && state.updateIds.includes(updateId)) return;
  check(entity);
  const { ttlSeconds } = changes;
  const spec = { ...record.spec, ...changes };
  const expiresAt = ttlSeconds === undefined ? record.expiresAt : new Date(at + ttlSeconds * 1000).toISOString();
  await entity.recordChange('sandbox.patched', { spec, expiresAt }, { ...changes, expiresAt }, actor);
  state.usedAt = Date.now();
  if (updateId === undefined) return;
  state.updateIds.push(updateId);
  state.updateIds.splice(0, state.updateIds.length - MAX_UPDATE_IDS);
}
