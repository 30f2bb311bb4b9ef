import { currentUpdateInfo, setHandler, workflowInfo } from '@temporalio/workflow';
import type { SandboxPatch } from '../../model/sagas/messages.ts';
import { isUnclaimed } from '../../model/sandbox/sandbox-state.ts';
import { refusal } from '../saga/failure.ts';
import { patch } from '../saga/messages.ts';
import type { Life } from './life.ts';

/** Spec updates that are remembered: who has not heard the answer sends it again within ten seconds, then temporal/ gives up. */
const REMEMBERED = 200;
/**
 * A run may have 51,200 events, 50 MiB and 2,000 updates. It continues as new long before, but not while an operation is
 * under way: one that takes very long must not be cut off by PATCHes.
 */
const MOST = { events: 20_000, bytes: 20 * 2 ** 20 };

/** Takes what callers change of a sandbox, one change after another, so that none is lost to another, or to a timer. */
export function handlePatches(life: Life): void {
  const change = async (wished: SandboxPatch) => {
    await life.begun();
    await changeOnce(life, wished);
    return null;
  };
  const validator = (_wished: SandboxPatch) => {
    life.checkOpen();
    check(life);
  };
  setHandler(patch, change, { validator });
}

/** @throws ApplicationFailure why it is not taken now */
function check({ id, isEnding, record }: Life): void {
  const { historyLength, historySize } = workflowInfo();
  if (isEnding) throw ended(id);
  if (isUnclaimed(record)) throw refusal('sandbox_not_running', `${id} is a pool's, and nobody has claimed it.`);
  if (historyLength <= MOST.events && historySize <= MOST.bytes) return;
  throw refusal('sandbox_busy', `${id} takes no more changes until what is under way has ended.`);
}

/** @throws ApplicationFailure sandbox_ended */
async function changeOnce(life: Life, wished: SandboxPatch): Promise<void> {
  const id = currentUpdateInfo()?.id;
  const { patchIds } = life;
  if (id !== undefined && patchIds.includes(id)) return;
  const at = Date.now();
  await life.inbox.take(() => apply(life, wished, at));
  if (id === undefined) return;
  patchIds.push(id);
  patchIds.splice(0, patchIds.length - REMEMBERED);
}

async function apply(life: Life, { actor, ...patched }: SandboxPatch, at: number): Promise<void> {
  if (life.isEnding) throw ended(life.id);
  const { ttlSeconds } = patched;
  const spec = { ...life.record.spec, ...patched };
  const expiresAt = ttlSeconds === undefined ? life.record.expiresAt : new Date(at + ttlSeconds * 1000).toISOString();
  await life.recordChange('sandbox.patched', { spec, expiresAt }, { ...patched, expiresAt }, actor);
  life.used();
}

function ended(id: string) {
  return refusal('sandbox_ended', `${id} is ending or has ended`);
}
