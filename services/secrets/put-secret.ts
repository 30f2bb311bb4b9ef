import { randomUUID } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { getUnmaskedReason } from '../../model/secrets/maskable.ts';
import type { SecretRecord } from '../../model/secrets/secret.ts';
import type { ServiceDeps } from '../service-deps.ts';

const { secrets: limits } = LIMITS.functions;

/**
 * Sets the value of a secret. Stores it first under a fresh id, then names it: of two concurrent puts both get a
 * version, and the later is the newest.
 * @returns isNew: true when there was none @throws MayflyError secrets_full
 */
export async function putSecret(
  { store }: ServiceDeps,
  createdBy: Actor,
  name: string,
  value: string,
): Promise<{ record: SecretRecord; isNew: boolean }> {
  const known = await store.secrets.get(name);
  if (!isThere(known) && (await store.secrets.list()).length >= limits.count) {
    throw new MayflyError('secrets_full', `${createdBy.project} has ${limits.count} secrets.`);
  }
  const valueId = randomUUID();
  await store.secretValues.create(name, valueId, value);
  for (;;) {
    const before = await store.secrets.get(name);
    const record = next(before, { createdBy, name, valueId, notMasked: getUnmaskedReason(value) });
    if (!(await store.secrets.replace(record, before))) continue;
    if (isThere(before)) await store.secretValues.remove(name, before.valueId);
    return { record, isNew: !isThere(before) };
  }
}

/** Deletes a secret's value; runs that have it continue, later runs get none. @throws MayflyError secret_not_found */
export async function deleteSecret(deps: ServiceDeps, name: string): Promise<void> {
  const { store } = deps;
  for (;;) {
    const before = await requireSecret(deps, name);
    const updatedAt = new Date().toISOString();
    if (!(await store.secrets.replace({ ...before, valueId: null, versions: [], updatedAt }, before))) continue;
    return store.secretValues.remove(name, before.valueId);
  }
}

type Living = SecretRecord & { valueId: string };

/** @throws MayflyError secret_not_found */
export async function requireSecret({ store }: Pick<ServiceDeps, 'store'>, name: string): Promise<Living> {
  const found = await store.secrets.get(name);
  if (isThere(found)) return found;
  throw new MayflyError('secret_not_found', `There is no secret ${name}.`);
}

function isThere(record: SecretRecord | null): record is Living {
  return record !== null && record.valueId !== null;
}

function next(
  before: SecretRecord | null,
  { createdBy, ...wanted }: Pick<SecretRecord, 'name' | 'valueId' | 'notMasked'> & { createdBy: Actor },
): SecretRecord {
  const at = new Date().toISOString();
  const version = (before?.version ?? 0) + 1;
  const versions = [{ version, createdBy, createdAt: at }, ...(before?.versions ?? [])].slice(0, limits.versions);
  const createdAt = isThere(before) ? before.createdAt : at;
  return { ...wanted, project: createdBy.project, version, versions, createdAt, updatedAt: at };
}
