import { MayflyError } from '../../model/errors.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { RequestDeps } from '../http/context.ts';

/** @throws MayflyError sandbox_not_found */
export async function requireSandbox({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<SandboxRecord> {
  const record = await store.sandboxes.get(id);
  if (record) return record;
  throw new MayflyError('sandbox_not_found', `There is no sandbox ${id}.`);
}
