import { MayflyError } from '../../../model/errors.ts';
import type { FunctionSpec } from '../../../model/functions/function.ts';
import type { Attempt, RunRecord } from '../../../model/functions/run.ts';
import { LIMITS } from '../../../model/limits.ts';
import type { AttemptSecret, SecretUse, UsedSecret } from '../../../model/secrets/secret.ts';
import type { Store } from '../../../store/connect.ts';

type Stores = Pick<Store, 'secrets' | 'secretValues' | 'secretUses' | 'attemptSecrets'>;

/** Checks that the secrets exist, before any resource is made. @throws MayflyError secret_not_found */
export async function requireSecrets(
  { secrets }: Pick<Store, 'secrets'>,
  { project }: Pick<RunRecord, 'project'>,
  spec: Pick<FunctionSpec, 'secrets'>,
): Promise<void> {
  for (const name of namesOf(spec.secrets)) {
    const found = await secrets.get({ project, name });
    if (!found || found.valueId === null) throw secretNotFound(name);
  }
}

/**
 * Returns the current values, or on a repeat, those of the first call. Records their use.
 * @throws MayflyError secret_not_found, secrets_too_large
 */
export async function issueSecrets(
  store: Stores,
  { id: runId, project }: Pick<RunRecord, 'id' | 'project'>,
  { commandId, n, begunAt }: Attempt,
  { secrets: uses }: Pick<FunctionSpec, 'secrets'>,
): Promise<AttemptSecret[]> {
  if (uses.length === 0) return [];
  const known = await store.attemptSecrets.get(commandId);
  const given = known ?? (await store.attemptSecrets.keep(commandId, await currentValues(store, project, uses)));
  for (const { name, version } of versionsOf(given)) {
    await store.secretUses.add({ project, name }, { version, runId, attempt: n, at: begunAt });
  }
  return given;
}

export function versionsOf(given: readonly AttemptSecret[]): UsedSecret[] {
  return [...new Map(given.map(({ name, version }) => [name, { name, version }])).values()];
}

/** Splits secrets into environment variables, and files of the secrets folder. */
export function placesOf(given: readonly AttemptSecret[]): Record<'env' | 'files', Record<string, string>> {
  const of = (place: 'env' | 'file') =>
    Object.fromEntries(given.flatMap(({ value, [place]: name }) => (name === null ? [] : [[name, value]])));
  return { env: of('env'), files: of('file') };
}

async function currentValues(store: Stores, project: string, uses: readonly SecretUse[]): Promise<AttemptSecret[]> {
  const values = new Map<string, { version: number; value: string }>();
  for (const name of namesOf(uses)) values.set(name, await currentValue(store, project, name));
  const given = uses.flatMap((use) => {
    const found = values.get(use.name);
    return found ? [{ ...use, ...found }] : [];
  });
  const bytes = given.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
  if (bytes <= LIMITS.functions.secrets.bytes) return given;
  const why = `Its secrets have ${bytes} bytes, ${LIMITS.functions.secrets.bytes} at most are given to a process.`;
  throw new MayflyError('secrets_too_large', why);
}

/**
 * Returns the current value. Retries on a concurrent update, which stores the new value and then removes the old one.
 */
async function currentValue({ secrets, secretValues }: Stores, project: string, name: string) {
  for (;;) {
    const record = await secrets.get({ project, name });
    if (!record || record.valueId === null) throw secretNotFound(name);
    const value = await secretValues.get({ project, name }, record.valueId);
    if (value !== null) return { version: record.version, value };
    const again = await secrets.get({ project, name });
    if (again?.valueId === record.valueId) throw secretNotFound(name); // the store has lost it
  }
}

function namesOf(uses: readonly Pick<SecretUse, 'name'>[]): string[] {
  return [...new Set(uses.map(({ name }) => name))];
}

function secretNotFound(name: string): MayflyError {
  return new MayflyError('secret_not_found', `There is no secret ${name} any more.`);
}
