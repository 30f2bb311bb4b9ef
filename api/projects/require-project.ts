import { MayflyError } from '../../model/errors.ts';
import type { RequestDeps } from '../http/context.ts';

/** @throws MayflyError project_not_found, also of one that the caller may not know of */
export async function requireProject({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<void> {
  if (await store.hasProject(id)) return;
  throw new MayflyError('project_not_found', `There is no project ${id}.`);
}
