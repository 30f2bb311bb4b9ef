import { MayflyError } from '../../model/errors.ts';
import type { DeployRequest } from '../../model/functions/deploy-request.ts';
import type { SecretUse } from '../../model/secrets/secret.ts';
import { warningOf } from '../../model/secrets/secret.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** @throws MayflyError secret_not_found, which names those that are not there */
export async function knownSecrets(
  { store }: Pick<ServiceDeps, 'store'>,
  { secrets }: Pick<DeployRequest, 'secrets'>,
): Promise<SecretUse[]> {
  const found = await Promise.all(secrets.map(({ name }) => store.secrets.get(name)));
  const fields = secrets.flatMap(({ name }, n) =>
    found[n] && found[n].valueId !== null
      ? []
      : [{ field: `secrets.${n}.name`, problem: `there is no secret ${name}` }],
  );
  if (fields.length === 0) return secrets.map(({ name, env = null, file = null }) => ({ name, env, file }));
  const names = [...new Set(fields.map(({ problem }) => problem))].join(', ');
  throw new MayflyError('secret_not_found', `The function names what is not there: ${names}.`, { fields });
}

/** What is to be known of the secrets of a version: those that are gone, or are not masked. */
export async function warningsOf(
  { store }: Pick<ServiceDeps, 'store'>,
  uses: readonly Pick<SecretUse, 'name'>[],
): Promise<string[]> {
  const names = [...new Set(uses.map(({ name }) => name))];
  const found = await Promise.all(names.map((name) => store.secrets.get(name)));
  return names.flatMap((name, n) => {
    const record = found[n];
    if (!record || record.valueId === null) return [`There is no secret ${name} any more: no run is started.`];
    return record.notMasked === null ? [] : [warningOf(name, record.notMasked)];
  });
}
