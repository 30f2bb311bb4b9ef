import type { ErrorCode } from '../../model/errors.ts';
import type { ImageRecord } from '../../model/image/image.ts';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { Store } from '../../store/connect.ts';

interface LostTask {
  failure: { code: ErrorCode; message: string };
  actor: Actor | null;
  /** Host; null: lost regardless of its host. */
  hostId: string | null;
  /** ISO 8601. */
  at: string;
}

export async function failPlaybook(
  store: Pick<Store, 'audit' | 'playbooks'>,
  { id, sandboxId }: PlaybookRecord,
  { failure, at, ...event }: LostTask,
): Promise<void> {
  const [kind, state] = ['playbook.ended', 'failed'] as const;
  const detail = { playbookId: id, state, failure };
  await store.audit.record(sandboxId, { eventId: `${id}/${kind}`, kind, runId: null, at, detail, ...event });
  await store.playbooks.update(id, { state, failure, waitingFor: null, endedAt: at, updatedAt: at });
}

/** Records the failure of an image build: the next build reuses its finished steps. */
export async function failImage(
  store: Pick<Store, 'audit' | 'imageContexts' | 'images'>,
  { id, done, snapshotId }: ImageRecord,
  { failure: { code, message }, at, ...event }: LostTask,
): Promise<void> {
  await store.imageContexts.remove(id);
  const kind = 'image.failed';
  const detail = { code, done, snapshotId };
  await store.audit.record(id, { eventId: `${id}/lost`, kind, runId: null, at, detail, ...event });
  const failure = { code, message, line: null, exitCode: null, log: null };
  await store.images.update(id, { state: 'failed', failure, waitingFor: null, updatedAt: at });
}
