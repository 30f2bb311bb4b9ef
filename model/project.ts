import type { ProjectLimits } from './project-limits.ts';

/** Project that exists in every installation from the start. */
export const DEFAULT_PROJECT = 'default';

/** Project of resources without a known owner. No key and no project can have this id, so only operators see them. */
export const NO_PROJECT = '-';

const PROJECT_ID = /^[a-z][a-z0-9-]{0,62}$/;
export const PROJECT_ID_PATTERN = PROJECT_ID.source;

/** Tenant: keys, sandboxes, snapshots and captures belong to one, and are invisible to all others. */
export interface Project {
  id: string;
  /** Names of allowed sources besides its own; null: all that belong to no other project. */
  sources: string[] | null;
  limits: ProjectLimits;
  createdAt: string;
  /** A deleted id is never reused. */
  deletedAt: string | null;
}

/** True when `text` can name a project: 1 to 63 of `a-z0-9-`, the first a letter. */
export function isProjectId(text: string): boolean {
  return PROJECT_ID.test(text);
}

/**
 * Returns the project that owns a source named `<project>.…`. Null: the installation owns it.
 * @param isProject true when a project of that id exists or existed
 */
export function getSourceOwner(name: string, isProject: (id: string) => boolean): string | null {
  const [first = '', ...rest] = name.split('.');
  return rest.length > 0 && first !== DEFAULT_PROJECT && isProject(first) ? first : null;
}

/** True when a project may use a source of that name. @param isProject see {@link getSourceOwner} */
export function canUseSource(
  { id, sources }: Pick<Project, 'id' | 'sources'>,
  name: string,
  isProject: (id: string) => boolean,
): boolean {
  const owner = getSourceOwner(name, isProject);
  if (owner === id) return true;
  return sources === null ? owner === null : sources.includes(name);
}

/** True when a project may give a source that name without learning what other projects have. */
export function canNameSource(project: string, name: string): boolean {
  return name.startsWith(`${project}.`) || (project === DEFAULT_PROJECT && !name.includes('.'));
}
