import { isDeepStrictEqual } from 'node:util';
import { MayflyError } from '../../model/errors.ts';
import type { ImageRecord, ImageRequest } from '../../model/image/image.ts';
import type { ImageInput } from '../../model/image/image-saga.ts';
import { LIMITS } from '../../model/limits.ts';
import type { BuildInputs } from '../../store/images/image-contexts.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import { admit } from '../sandboxes/admission.ts';
import type { Unset } from '../sandboxes/placement.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { assertNameFree, assertOwnName } from '../sources/source-host.ts';
import { type BuildStart, resolveBuildStart } from './beginning.ts';
import { buildInput } from './builder-input.ts';
import { inlineContext, uploadedContext } from './oci-image.ts';
import { rootsOf } from './roots.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/** Request for a build, without defaults. */
interface BuildRequest extends Unset<Pick<ImageRequest, 'args' | 'aliases' | 'network'>> {
  name: string;
  dockerfile: string;
  target?: string | undefined;
  /** Base64 of a tar archive. */
  context?: string | undefined;
  /** Digest of a context that was uploaded before. */
  contextDigest?: string | undefined;
  /** Base64 by id. */
  secrets?: Record<string, string> | undefined;
  ready?: string | undefined;
  readySeconds?: number | undefined;
}

/**
 * Starts a build, or joins the running build of the same name and request.
 * @throws MayflyError source_exists, context_not_found, dockerfile_unsupported, and errors of a create and a bake
 */
export async function buildImage(deps: Deps, call: IdempotentCall, request: BuildRequest): Promise<ImageRecord> {
  const { store, sagas } = deps;
  const { subjectId: id } = call;
  const present = call.isFresh ? null : await store.images.get(id);
  if (present && present.state !== 'queued') return present;
  const sent = await readRequest(store, request);
  const wanted = await prepareBuild(deps, call, request.name, sent.request);
  if ('known' in wanted) return wanted.known;
  const { record, input } = wanted;
  if (sent.kept) await store.imageContexts.keep(id, sent.kept);
  await store.images.create(record);
  const running = await sagas.images.build(input);
  if (running === null) return record;
  await Promise.all([store.images.remove(id), store.imageContexts.remove(id)]);
  const other = await store.images.get(running);
  if (other && isDeepStrictEqual(other.request, record.request)) return other;
  throw new MayflyError('source_exists', `${JSON.stringify(record.name)} is being built of something else now.`);
}

/** @throws MayflyError errors of a create and a bake; dockerfile_unsupported */
async function prepareBuild(
  deps: Deps,
  call: IdempotentCall,
  name: string,
  request: ImageRequest,
): Promise<{ known: ImageRecord } | { record: ImageRecord; input: ImageInput }> {
  const { project } = call.apiKey;
  if (!deps.store.viewer.isOperator) assertOwnName(project, name);
  const beginning = await resolveBuildStart(deps.store, { id: call.subjectId, project, request });
  const known = await findBuilt(deps.store, name, beginning);
  if (known) return { known };
  await assertNameFree(deps.store, name);
  const input = buildInput(call, name, beginning, request);
  const builders = input.stages?.map(({ builder }) => builder.id) ?? [];
  const checkers = input.ready ? [input.ready.checker.id] : [];
  await admit(deps, [...builders, ...checkers, input.bakerId], beginning.origin.size);
  return { record: recordOf(input, request, beginning), input };
}

function recordOf(input: ImageInput, request: ImageRequest, { build, content, contents }: BuildStart): ImageRecord {
  const { imageId: id, name, builder, stages, ready, steps, cached, snapshotId, actor } = input;
  const { requestedAt: at } = builder;
  return {
    id,
    project: actor.project,
    name,
    state: 'queued',
    request,
    source: build.source,
    content,
    contents,
    builderId: builder.id,
    stages: stages.map(({ place, builder: { id: builderId }, first }) => ({ place, builderId, first })),
    ...(ready && { checkerId: ready.checker.id }),
    steps,
    cached,
    done: cached,
    snapshotId,
    failure: null,
    waitingFor: null,
    begin: input,
    createdBy: actor,
    createdAt: at,
    readyAt: null,
    updatedAt: at,
  };
}

/** Returns the build that made the ready source of that name from the same steps; null when none did. */
async function findBuilt(
  { images, bakedSources }: ProjectStore,
  name: string,
  { snapshotId }: BuildStart,
): Promise<ImageRecord | null> {
  if (snapshotId === null) return null;
  const made = await bakedSources.named(name);
  if (!made.some((source) => source.state === 'ready' && source.snapshotId === snapshotId)) return null;
  return images.ready(name, snapshotId);
}

/** Request as it is recorded, and the bytes that are stored apart. */
interface Sent {
  request: ImageRequest;
  kept: BuildInputs | null;
}

/** @throws MayflyError invalid_request, body_too_large, context_not_found */
async function readRequest(store: ProjectStore, body: BuildRequest): Promise<Sent> {
  const {
    dockerfile,
    args = {},
    target,
    aliases = {},
    network,
    context,
    contextDigest,
    secrets = {},
    ready,
    readySeconds,
  } = body;
  const archive = context === undefined ? null : Buffer.from(context, 'base64');
  const found = contextDigest === undefined ? inlineContext(archive) : await uploadedContext(store, contextDigest);
  const plain: ImageRequest = {
    dockerfile,
    args,
    target: target ?? null,
    aliases,
    network: network ?? { egress: 'none' as const },
    ...(ready !== undefined && {
      ready: { command: ready, seconds: readySeconds ?? LIMITS.image.readySeconds.default },
    }),
    context: found.context,
    secrets: Object.entries(secrets).map(([id, text]) => ({ id, bytes: Buffer.from(text, 'base64').length })),
  };
  const roots = await rootsOf(plain, found.read);
  const request = roots.length > 0 ? { ...plain, roots } : plain;
  const isKept = archive !== null || Object.keys(secrets).length > 0;
  return { request, kept: isKept ? { archive, secrets } : null };
}
