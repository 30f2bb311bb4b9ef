import type { ProjectLimits } from './project-limits.ts';

/** Project that every installation has from its beginning on. */
export const DEFAULT_PROJECT = 'default';

/** Of what nobody is known to have asked for. No key is of it, and no project can be called so: only operators see that. */
export const NO_PROJECT = '-';

const PROJECT_ID = /^[a-z][a-z0-9-]{0,62}$/;
export const PROJECT_ID_PATTERN = PROJECT_ID.source;

/** A tenant: keys, sandboxes, snapshots and captures belong to one, and nothing of it is seen from another. */
export interface Project {
  id: string;
  /** Names of sources that may be used beside its own ones; null: all but those of other projects. */
  sources: string[] | null;
  limits: ProjectLimits;
  createdAt: string;
  /** Its id is never given again. */
  deletedAt: string | null;
}

/** Whether `text` can name a project: 1 to 63 of `a-z0-9-`, the first a letter. */
export function isProjectId(text: string): boolean {
  return PROJECT_ID.test(text);
}

/**
 * The project whose source that is: one that is called `<project>.…`. Null: the installation's.
 * @param isProject whether there is, or was, a project of that id
 */
export function ownerOfSource(name: string, isProject: (id: string) => boolean): string | null {
  const [first = '', ...rest] = name.split('.');
  return rest.length > 0 && first !== DEFAULT_PROJECT && isProject(first) ? first : null;
}

/** Whether a project may use a source of that name. @param isProject as of {@link ownerOfSource} */
export function mayUseSource(
  { id, sources }: Pick<Project, 'id' | 'sources'>,
  name: string,
  isProject: (id: string) => boolean,
): boolean {
  const owner = ownerOfSource(name, isProject);
  if (owner === id) return true;
  return sources === null ? owner === null : sources.includes(name);
}

/** Whether a project may give a source that name without being told what others have. */
export function mayNameSource(project: string, name: string): boolean {
  return name.startsWith(`${project}.`) || (project === DEFAULT_PROJECT && !name.includes('.'));
}
