import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { FunctionRecord, FunctionVersion } from '../../model/functions/function.ts';
import { LIMITS } from '../../model/limits.ts';
import { DEFAULT_WAIT } from '../../model/waitpoints/waiting.ts';
import type { RequestDeps } from '../http/context.ts';
import type { functionAnswer, versionAnswer } from './function-schemas.ts';
import { setupView } from './function-setup.ts';

export function functionView({ fullUntil: _room, ...shown }: FunctionRecord): z.infer<typeof functionAnswer> {
  return shown;
}

/** Of a function that does not say otherwise: it is not in its spec, so that the digests of those from before stay. */
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

/** @throws MayflyError function_not_found */
export async function requireFunction({ store }: Pick<RequestDeps, 'store'>, name: string): Promise<FunctionRecord> {
  const found = await store.functions.get(name);
  if (found) return found;
  throw new MayflyError('function_not_found', `There is no function ${name}.`);
}

/** @throws MayflyError function_version_not_found */
export async function requireVersion(
  { store }: Pick<RequestDeps, 'store'>,
  name: string,
  version: number,
): Promise<FunctionVersion> {
  const found = await store.functionVersions.get(name, version);
  if (found) return found;
  throw new MayflyError('function_version_not_found', `${name} has no version ${version}.`);
}
