import { MayflyError } from '../../model/errors.ts';
import type { HookFilter } from '../../model/events/hook-filter.ts';
import { canonicalizeNumber } from '../../model/events/json/exact-json.ts';
import { resolvePointerText } from '../../model/events/json-pointer.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { HookRecord } from '../../model/webhooks/hook.ts';
import type { SignatureScheme } from '../../model/webhooks/signature-scheme.ts';
import { requireFunction, type ServiceDeps } from '../service-deps.ts';
import { secretProblem } from '../webhooks/signing/secret.ts';

const { hooks: limits } = LIMITS.functions;

type HookRequest = Pick<HookRecord, 'function' | 'scheme' | 'secrets' | 'filter' | 'allowedOrigins'>;

interface FilterRequest {
  types?: string[] | undefined;
  conditions: { pointer: string; in: (string | number | boolean | null)[] }[];
}

/** Returns the record of a requested hook. @throws MayflyError invalid_request */
export function newHook(id: string, createdBy: Actor, request: HookRequest): HookRecord {
  const { scheme, filter } = request;
  assertSecrets(scheme, request.secrets);
  const createdAt = new Date().toISOString();
  const { function: name, secrets, allowedOrigins } = request;
  const wanted = { function: name, scheme, secrets, filter, allowedOrigins };
  return { id, project: createdBy.project, ...wanted, disabledAt: null, createdBy, createdAt };
}

/** Returns the filter of a request, with its numbers as written. @param body its JSON text */
export function filterOf(filter: FilterRequest | undefined, body: string): HookFilter | null {
  if (!filter) return null;
  const conditions = filter.conditions.map(({ pointer, in: values }, nth) => ({
    pointer,
    in: values.map((value, at) => {
      if (typeof value !== 'number') return JSON.stringify(value);
      return canonicalizeNumber(resolvePointerText(body, `/filter/conditions/${nth}/in/${at}`) ?? '');
    }),
  }));
  return { types: filter.types ?? null, conditions };
}

/** @throws MayflyError invalid_request, which names secrets by index and quotes none */
export function assertSecrets(scheme: SignatureScheme, secrets: readonly string[]): void {
  const fields = secrets.flatMap((secret, at) => {
    const problem = secretProblem(scheme, secret);
    return problem === null ? [] : [{ field: `secrets.${at}`, problem }];
  });
  if (new Set(secrets).size < secrets.length) fields.push({ field: 'secrets', problem: 'are the same' });
  if (fields.length === 0) return;
  throw new MayflyError('invalid_request', `Secrets of the scheme ${scheme.scheme} are not like that.`, { fields });
}

/** @throws MayflyError function_not_found, function_draining, hooks_full */
export async function assertHookLimit(deps: ServiceDeps, name: string): Promise<void> {
  const { state } = await requireFunction(deps, name);
  if (state === 'draining') throw new MayflyError('function_draining', `${name} is being deleted.`);
  if ((await deps.store.hooks.list(name)).length >= limits.count) throw hooksFull(name);
}

/** Records a hook. Idempotent. @throws MayflyError hooks_full when concurrent requests came first */
export async function recordHook({ store }: ServiceDeps, hook: HookRecord): Promise<HookRecord> {
  if (!(await store.hooks.create(hook))) return (await store.hooks.get(hook.id)) ?? hook;
  const place = (await store.hooks.list(hook.function)).findIndex(({ id }) => id === hook.id);
  if (place < limits.count) return hook;
  await store.hooks.remove(hook.id);
  throw hooksFull(hook.function);
}

function hooksFull(name: string): MayflyError {
  return new MayflyError('hooks_full', `${name} has ${limits.count} hooks.`);
}
