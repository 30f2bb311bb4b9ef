import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';

/** @param what subject of the error's sentence @throws MayflyError sandbox_ended */
export async function requireHost(
  { sandboxes }: Pick<Store, 'sandboxes'>,
  sandboxId: string,
  what = `The sandbox ${sandboxId}`,
): Promise<HostRef> {
  const sandbox = await sandboxes.get(sandboxId);
  const host = sandbox && getHost(sandbox);
  if (host) return host;
  throw new MayflyError('sandbox_ended', `${what} is not there any more.`);
}
