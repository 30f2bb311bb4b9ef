import { MayflyError } from '../../../model/errors.ts';
import { mayUseSource } from '../../../model/project.ts';
import type { Size } from '../../../model/project-limits.ts';
import type { Reconciliation } from '../../../sagas/reconciliation.ts';
import type { Store } from '../../../store/connect.ts';

/** What a sandbox of a function is made of, and how large. */
export interface Place {
  source: string;
  size: Size;
}

/** Counts a sandbox in the quotas of its project. @throws MayflyError project_not_found, source_not_found, project_quota_exceeded */
export async function admitSandbox(
  { store, reconciliation }: { store: Store; reconciliation: Reconciliation },
  projectId: string,
  sandboxId: string,
  { source, size }: Place,
): Promise<void> {
  const projects = await store.projects.known();
  const project = projects.get(projectId);
  if (!project || project.deletedAt !== null) {
    throw new MayflyError('project_not_found', `There is no project ${projectId}.`);
  }
  if (!mayUseSource(project, source, (id) => projects.has(id))) {
    throw new MayflyError('source_not_found', `The project ${projectId} may not use ${JSON.stringify(source)}.`);
  }
  await store.admissions.admit(project, [{ sandboxId, ...size }], (id) => reconciliation.isSandboxOpen(id));
}
