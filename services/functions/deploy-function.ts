import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { getRequestedCommands } from '../../model/approvals/command-pattern.ts';
import { MayflyError } from '../../model/errors.ts';
import type { DeployRequest } from '../../model/functions/deploy-request.ts';
import type { FunctionRecord, FunctionSpec, FunctionVersion } from '../../model/functions/function.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_WAIT } from '../../model/waitpoints/waiting.ts';
import { canonicalJson } from '../../store/audit/canonical-json.ts';
import { versionOfId } from '../../store/functions/function-versions.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { assertAllowed } from '../approvals/policy-check.ts';
import { placeableOrigin } from '../sandboxes/placement.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { resolveSecrets, startSetup } from './function-setup.ts';

interface Deployed {
  function: FunctionRecord;
  version: FunctionVersion;
  /** True when no version had that content. */
  isNew: boolean;
}

/**
 * Deploys a function. The same content again returns the existing version.
 * @throws MayflyError errors of placement, retry_needs_idempotent, functions_full, function_draining, policy_denied,
 *   secret_not_found, invalid_schema, schema_too_slow
 */
export async function deployFunction(
  deps: ServiceDeps,
  schemas: InputSchemas,
  actor: Actor,
  name: string,
  request: DeployRequest,
): Promise<Deployed> {
  const { store } = deps;
  const files = request.files ? Buffer.from(request.files.tar, 'base64') : null;
  const spec = await specOf(deps, schemas, actor.project, request, files);
  const present = await store.functions.get(name);
  if (present?.state === 'draining') throw new MayflyError('function_draining', `${name} is being deleted.`);
  if (!present && (await store.functions.list()).length >= LIMITS.functions.count) {
    throw new MayflyError('functions_full', `${actor.project} has ${LIMITS.functions.count} functions.`);
  }
  if (files && spec.filesDigest !== null) await store.functionFiles.put(spec.filesDigest, files);
  const { version, isNew } = await ensureVersion(deps, actor, name, spec);
  await startSetup(deps, actor, spec);
  const record = await activateVersion(deps, actor, name, version.version);
  await removeOld(deps, name, record.activeVersion);
  return { function: record, version, isNew };
}

/** Activates a version for new events. @throws MayflyError function_draining */
export async function activateVersion(
  { store }: ServiceDeps,
  createdBy: Actor,
  name: string,
  activeVersion: number,
): Promise<FunctionRecord> {
  const at = new Date().toISOString();
  const { project } = createdBy;
  const fresh = { project, name, state: 'active', activeVersion, fullUntil: null, createdBy } as const;
  const isNew = await store.functions.create({ ...fresh, createdAt: at, updatedAt: at });
  for (const state of ['active', 'paused'] as const) {
    if (await store.functions.change(name, { activeVersion, updatedAt: at }, { state })) break;
  }
  if (!isNew) await awaitCacheExpiry();
  const found = await store.functions.get(name);
  if (found && found.state !== 'draining') return found; // of two concurrent deploys one is active in the end
  throw new MayflyError('function_draining', `${name} is being deleted.`);
}

async function specOf(
  deps: ServiceDeps,
  schemas: InputSchemas,
  project: string,
  request: DeployRequest,
  files: Buffer | null,
): Promise<FunctionSpec> {
  const { retry, idempotent, input, cpus, memoryMib, command, argv, user, ...rest } = request;
  if (retry.maxAttempts > 1 && !idempotent) {
    throw new MayflyError(
      'retry_needs_idempotent',
      `retry.maxAttempts is ${retry.maxAttempts}, and idempotent is false.`,
      {
        fields: [{ field: 'retry.maxAttempts', problem: 'needs `idempotent: true` to be more than 1' }],
      },
    );
  }
  const { setup } = request;
  const origin = await placeableOrigin(deps.store, setup ? { ...request, source: setup.source } : request);
  const { source, snapshotId, captureId, network, size } = origin;
  if (captureId !== null) throwSourceRunning(source);
  const facts = { egress: network.egress, memoryMib: size.memoryMib };
  for (const runs of [getRequestedCommands(request), ...scriptOf(request)]) {
    await assertAllowed(deps, project, { ...facts, runs }, 'have somebody deploy it whom the policy lets');
  }
  if (files) assertTar(files);
  if (input.schema !== undefined) await schemas.check(input.schema);
  const destinations = await destinationsOf(deps, request);
  const { files: _files, source: _source, snapshotId: _snapshot, setup: _setup, network: _network, ...others } = rest;
  const { keep, diff, wait, ...plain } = others;
  return {
    ...plain,
    source: snapshotId === null && !setup ? source : null,
    snapshotId,
    ...(setup && { setup }),
    filesDigest: files && createHash('sha256').update(files).digest('hex'),
    command: command ?? null,
    argv: argv ?? null,
    user: user ?? null,
    secrets: await resolveSecrets(deps, request),
    input: { schema: input.schema ?? null, maxBytes: input.maxBytes },
    retry: { ...retry, exitCodes: retry.exitCodes ?? null },
    idempotent,
    concurrency: concurrencyOf(request),
    destinations,
    throttle: withKey(request.throttle),
    debounce: withKey(request.debounce),
    batch: withKey(request.batch),
    network: { egress: network.egress },
    cpus: cpus ?? null,
    memoryMib: memoryMib ?? null,
    ...(diff && { diff: true }),
    ...(wait && !isDeepStrictEqual(wait, DEFAULT_WAIT) && { wait }),
    ...(keep?.onFailure === 'disk' && { keep: { onFailure: 'disk', days: keep.days } }),
  };
}

/** @throws MayflyError invalid_request, which names each endpoint that the project lacks */
async function destinationsOf({ store }: ServiceDeps, request: DeployRequest): Promise<FunctionSpec['destinations']> {
  const { onSuccess = null, onFailure = null } = request.destinations;
  const fields = [];
  for (const [name, id] of Object.entries({ onSuccess, onFailure })) {
    if (id === null || (await store.webhookEndpoints.get(id))) continue;
    fields.push({ field: `destinations.${name}`, problem: `there is no webhook endpoint ${id}` });
  }
  if (fields.length === 0) return { onSuccess, onFailure };
  throw new MayflyError('invalid_request', 'A destination is not there.', { fields });
}

/** Returns the script of the setup, which the policy judges too. */
function scriptOf({ setup, env, user }: DeployRequest) {
  return setup ? [getRequestedCommands({ command: setup.script, env, user })] : [];
}

/** Refuses a running source: each run would get a different copy. @throws MayflyError source_running */
function throwSourceRunning(source: string): never {
  const why = `${JSON.stringify(source)} runs: bake a source of a snapshot of its clone, and name that.`;
  throw new MayflyError('source_running', why);
}

/** Returns the concurrency rules; the default limit when a request has none, so that every function is bounded. */
function concurrencyOf({ concurrency }: DeployRequest): FunctionSpec['concurrency'] {
  if (concurrency.length === 0) {
    return [{ limit: LIMITS.functions.concurrency.limit.default, key: null, onFull: 'queue' }];
  }
  return concurrency.map(({ key = null, ...rule }) => ({ ...rule, key }));
}

function withKey<T extends object>(
  rule: (T & { key?: string | undefined }) | undefined,
): (T & { key: string | null }) | null {
  return rule ? { ...rule, key: rule.key ?? null } : null;
}

/** @throws MayflyError invalid_request */
function assertTar(files: Uint8Array): void {
  try {
    tarEntries(files);
  } catch (cause) {
    const problem = cause instanceof MayflyError ? cause.message : 'is no tar archive';
    const fields = [{ field: 'files.tar', problem }];
    throw new MayflyError('invalid_request', 'The files of the function are not taken.', { cause, fields });
  }
}

async function ensureVersion(
  { store }: ServiceDeps,
  createdBy: Actor,
  name: string,
  spec: FunctionSpec,
): Promise<{ version: FunctionVersion; isNew: boolean }> {
  const digest = createHash('sha256').update(canonicalJson(spec)).digest('hex');
  for (;;) {
    const unreadable: Unreadable[] = [];
    const known = await store.functionVersions.list(name, unreadable);
    const numbers = [...known.map((each) => each.version), ...unreadable.map(({ id }) => versionOfId(id))];
    const same = known.find((each) => each.digest === digest);
    if (same) return { version: same, isNew: false };
    const version: FunctionVersion = {
      project: createdBy.project,
      function: name,
      version: Math.max(0, ...numbers) + 1,
      digest,
      spec,
      createdBy,
      createdAt: new Date().toISOString(),
    };
    if (await store.functionVersions.create(version)) return { version, isNew: true };
  }
}

/** Removes the oldest inactive versions; their queued runs do not start. */
async function removeOld({ store }: ServiceDeps, name: string, active: number): Promise<void> {
  const known = await store.functionVersions.list(name);
  for (const old of known.slice(LIMITS.functions.versions)) {
    if (old.version !== active) await store.functionVersions.remove(old);
  }
}
