import { MayflyError } from '../../model/errors.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';

type Stores = Pick<Store, 'functionVersions'>;
type Accepted = Pick<RunRecord, 'project' | 'function' | 'version' | 'versionDigest'>;

/** What a run was accepted for; null: it is not there any more, or another has its number. */
export async function acceptedSpec({ functionVersions }: Stores, run: Accepted): Promise<FunctionSpec | null> {
  const version = await functionVersions.get({ project: run.project, name: run.function }, run.version);
  return version?.digest === run.versionDigest ? version.spec : null;
}

/** @throws MayflyError function_gone */
export async function requireSpec(stores: Stores, run: Accepted): Promise<FunctionSpec> {
  const spec = await acceptedSpec(stores, run);
  if (spec) return spec;
  throw goneVersion(run);
}

export function goneVersion({ version, function: name }: Pick<Accepted, 'version' | 'function'>): MayflyError {
  return new MayflyError('function_gone', `Version ${version} of ${name} is not there any more.`);
}
