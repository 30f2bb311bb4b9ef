import type { CountRule } from '../../../model/approvals/policy.ts';
import { isMayflyError, MayflyError } from '../../../model/errors.ts';
import { canUseSource } from '../../../model/project.ts';
import type { Size } from '../../../model/project-limits.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';

const COUNTED_AGAIN_SECONDS = 60;

export interface Place {
  source: string;
  size: Size;
}

/**
 * Counts a sandbox in its project's quotas and by the policy's count rule; lack of quota is retryable.
 * @throws MayflyError project_not_found, source_not_found, project_quota_exceeded
 */
export async function admitSandbox(
  { store, reconciliation }: { store: Store; reconciliation: ControlTemporalClient },
  projectId: string,
  sandboxId: string,
  { source, size }: Place,
  countRule?: CountRule,
): Promise<void> {
  const projects = await store.projects.known();
  const project = projects.get(projectId);
  if (!project || project.deletedAt !== null) {
    throw new MayflyError('project_not_found', `There is no project ${projectId}.`);
  }
  if (!canUseSource(project, source, (id) => projects.has(id))) {
    throw new MayflyError('source_not_found', `The project ${projectId} may not use ${JSON.stringify(source)}.`);
  }
  const isOpen = (id: string) => reconciliation.sandboxes.isOpen(id);
  try {
    await store.admissions.admit(project, [{ sandboxId, ...size }], isOpen, countRule);
  } catch (error) {
    if (!isMayflyError(error, 'policy_denied')) throw error;
    const retryAfterSeconds = COUNTED_AGAIN_SECONDS;
    throw new MayflyError('project_quota_exceeded', error.message, { retryAfterSeconds, cause: error });
  }
}
