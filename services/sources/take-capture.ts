import { deriveSourceId } from '../../model/ids.ts';
import type { Actor, Egress } from '../../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import { newCapture } from '../../model/snapshots/capture-saga.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { placeSource } from './source-host.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

interface CaptureRequest {
  source: string;
  hostId?: string | undefined;
  /** `@default` that of the actor */
  projects?: string[] | undefined;
  /** `@default` none */
  allowedEgress?: Egress | undefined;
}

/**
 * Starts a capture, or finds that of an earlier attempt: a claim with a record has been started.
 * @throws MayflyError source_not_found, no_host, source_busy
 */
export async function startCapture(
  { store, sagas }: Deps,
  call: IdempotentCall,
  actor: Actor,
  { source, hostId: wanted, projects = [actor.project], allowedEgress = 'none' }: CaptureRequest,
): Promise<CaptureRecord> {
  const { subjectId: captureId, isFresh } = call;
  const present = isFresh ? null : await store.captures.get(captureId);
  if (present) return present;
  const { id: sourceId, hostId, installationId } = await placeSource(store, source, wanted);
  const whose = { actor, projects, allowedEgress, at: new Date().toISOString() };
  const input = { task: 'create' as const, captureId, sourceId, hostId, installationId, source, ...whose };
  await sagas.captures.begin(input);
  return newCapture(input);
}

/** @throws MayflyError capture_in_use, source_busy */
export async function beginCaptureDeletion({ sagas }: Deps, capture: CaptureRecord, actor: Actor): Promise<void> {
  const { id: captureId, hostId, installationId, source } = capture;
  const which = { captureId, sourceId: deriveSourceId(hostId, source), hostId, installationId, source };
  await sagas.captures.begin({ task: 'delete', ...which, actor, at: new Date().toISOString() });
}
