import type { z } from '@hono/zod-openapi';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_WAIT } from '../../model/waitpoints/waiting.ts';
import { orThrow } from '../../services/require.ts';
import type { RequestDeps } from '../http/context.ts';
import type { versionAnswer } from './function-schemas.ts';
import { setupView } from './function-setup.ts';

/** Retention of a function that does not ask for any; its spec, and with it the digest, leaves it out. */
const NOTHING_KEPT = { onFailure: 'none', days: LIMITS.functions.keepDays.default } as const;

export async function versionView(
  deps: Pick<RequestDeps, 'store'>,
  version: FunctionVersion,
  { activeVersion }: Pick<FunctionRecord, 'activeVersion'>,
): Promise<z.infer<typeof versionAnswer>> {
  const { project: _project, spec: all, ...shown } = version;
  const { env, keep, diff, wait = DEFAULT_WAIT, ...spec } = all;
  const setup = await setupView(deps, all);
  const isActive = shown.version === activeVersion;
  return {
    ...shown,
    isActive,
    spec: { ...spec, keep: keep ?? NOTHING_KEPT, diff: diff === true, wait, envNames: Object.keys(env) },
    ...(setup && { setup }),
  };
}

/** @throws MayflyError function_version_not_found */
export async function requireVersion(
  { store }: Pick<RequestDeps, 'store'>,
  name: string,
  version: number,
): Promise<FunctionVersion> {
  const found = await store.functionVersions.get(name, version);
  return orThrow(found, 'function_version_not_found', `${name} has no version ${version}.`);
}
