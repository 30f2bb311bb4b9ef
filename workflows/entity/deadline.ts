import { condition } from '@temporalio/workflow';
import type { StopReason } from '../../model/sandbox/sandbox.ts';
import { controlUntilDone } from '../saga/control.ts';
import type { SandboxEntity } from './entity.ts';

/** Ends a sandbox at its TTL or idle timeout. @param hibernate called instead when its `onIdle` is `hibernate` */
export async function watchDeadline(entity: SandboxEntity, hibernate: () => void): Promise<void> {
  const { state, inbox } = entity;
  while (state.end === null) {
    const { at } = getDeadline(entity);
    const leftMs = at - Date.now();
    const isDeadlineEarlier = () => state.end !== null || getDeadline(entity).at < at;
    if (leftMs > 0) await condition(isDeadlineEarlier, leftMs);
    else await inbox.run(() => handleDeadline(entity, hibernate));
  }
}

/**
 * Rechecks the deadline: earlier inbox items may have extended it, and so may uses that only the store knows, since a
 * run takes a limited number of signals.
 */
async function handleDeadline(entity: SandboxEntity, hibernate: () => void): Promise<void> {
  const { id, state } = entity;
  if (getDeadline(entity).reason === 'idle') {
    const { usedAt, isBusy } = await controlUntilDone.lastUse({ sandboxId: id });
    state.usedAt = Math.max(state.usedAt, isBusy ? Date.now() : Date.parse(usedAt));
  }
  const { at, reason } = getDeadline(entity);
  if (at > Date.now()) return;
  if (reason === 'idle' && entity.record.spec.onIdle === 'hibernate') {
    state.usedAt = Date.now(); // a failed hibernation is retried after another idle timeout
    hibernate();
  } else entity.terminate({ reason, actor: null, failure: null });
}

function getDeadline({ record, state, underWay }: SandboxEntity): { at: number; reason: StopReason } {
  const ttl = Date.parse(record.expiresAt);
  const { idleSeconds } = record.spec;
  if (idleSeconds === null || underWay !== null || record.state !== 'running') return { at: ttl, reason: 'ttl' };
  const idle = state.usedAt + idleSeconds * 1000;
  return idle < ttl ? { at: idle, reason: 'idle' } : { at: ttl, reason: 'ttl' };
}
