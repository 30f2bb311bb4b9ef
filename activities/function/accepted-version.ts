import { MayflyError } from '../../model/errors.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';

type Stores = Pick<Store, 'functionVersions'>;
type RunVersion = Pick<RunRecord, 'project' | 'function' | 'version' | 'versionDigest'>;

interface Binding extends Pick<RunRecord, 'version' | 'versionDigest'> {
  spec: FunctionSpec;
}

/**
 * Returns the version that a run is bound to at its admission: the accepted one, or the active one for late binding;
 * null: deleted.
 */
export async function boundVersion(
  { functionVersions }: Stores,
  run: RunVersion & Pick<RunRecord, 'lateBinding'>,
  activeVersion: number | null,
): Promise<Binding | null> {
  const { project, function: name, lateBinding } = run;
  if (lateBinding && activeVersion !== null) {
    const active = await functionVersions.get({ project, name }, activeVersion);
    if (active) return { version: active.version, versionDigest: active.digest, spec: active.spec };
  }
  const spec = await acceptedSpec({ functionVersions }, run);
  return spec && { version: run.version, versionDigest: run.versionDigest, spec };
}

/** Returns the spec of a run's version; null when deleted, or when its number was reused. */
export async function acceptedSpec({ functionVersions }: Stores, run: RunVersion): Promise<FunctionSpec | null> {
  const version = await functionVersions.get({ project: run.project, name: run.function }, run.version);
  return version?.digest === run.versionDigest ? version.spec : null;
}

/** @throws MayflyError function_gone */
export async function requireSpec(stores: Stores, run: RunVersion): Promise<FunctionSpec> {
  const spec = await acceptedSpec(stores, run);
  if (spec) return spec;
  throw goneVersion(run);
}

export function goneVersion({ version, function: name }: Pick<RunVersion, 'version' | 'function'>): MayflyError {
  return new MayflyError('function_gone', `Version ${version} of ${name} is not there any more.`);
}
