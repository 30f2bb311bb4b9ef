import { isDeepStrictEqual } from 'node:util';
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { imageIdFrom } from '../../model/ids.ts';
import { type ImageRecord, type ImageRequest, isImageOver } from '../../model/image/image.ts';
import type { ImageInput } from '../../model/image/image-saga.ts';
import { LIMITS } from '../../model/limits.ts';
import type { IdempotentCall } from '../../services/idempotent-call.ts';
import { type Beginning, beginningOf } from '../../services/images/beginning.ts';
import { contextSent, contextWithin } from '../../services/images/context-bytes.ts';
import { rootsOf } from '../../services/images/roots.ts';
import { admit } from '../../services/sandboxes/admission.ts';
import { refuseForeignName, refuseTaken } from '../../services/sources/bake-source.ts';
import type { KeptContext } from '../../store/images/image-contexts.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Responder, reply } from '../http/route.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { inputOf } from './builder-input.ts';
import type { buildImage } from './image-schemas.ts';
import { imageView } from './image-view.ts';

type ImageView = ReturnType<typeof imageView>;
type Request = z.output<typeof buildImage>;

/** POST /v1/images: of a name there is one build at a time, so who asks for the one that runs is told of that. */
export async function answerBuild(responder: Responder<ImageView>, body: Request): Promise<Response> {
  const { c, deps } = responder;
  const { store } = deps;
  const again = async (id: string) => {
    const record = await store.images.get(id);
    return record && reply(isImageOver(record.state) ? 200 : 202, imageView(record));
  };
  return answerOnce(responder, { idFrom: imageIdFrom, again }, async (attempt) =>
    reply(202, imageView(await begun(c, deps, attempt, body))),
  );
}

async function begun(c: Context<Env>, deps: RequestDeps, attempt: IdempotentCall, body: Request): Promise<ImageRecord> {
  const { store, sagas } = deps;
  const { subjectId: id } = attempt;
  const present = attempt.isFresh ? null : await store.images.get(id);
  if (present && present.state !== 'queued') return present;
  const sent = await sentBy(store, body);
  const wish = await wished(c, deps, id, body.name, sent);
  if ('known' in wish) return wish.known;
  const { record, input } = wish;
  if (sent.kept) await store.imageContexts.keep(id, sent.kept);
  await store.images.create(record);
  const running = await sagas.images.build(input);
  if (running === null) return record;
  await Promise.all([store.images.remove(id), store.imageContexts.remove(id)]);
  const other = await store.images.get(running);
  if (other && isDeepStrictEqual(other.request, record.request)) return other;
  throw new MayflyError('source_exists', `${JSON.stringify(record.name)} is being built of something else now.`);
}

/** @throws MayflyError what a create, and a bake, refuses with; dockerfile_unsupported */
async function wished(
  c: Context<Env>,
  deps: RequestDeps,
  id: string,
  name: string,
  sent: Sent,
): Promise<{ known: ImageRecord } | { record: ImageRecord; input: ImageInput }> {
  const actor = actorOf(c);
  if (!deps.store.viewer.isOperator) refuseForeignName(actor.project, name);
  const { request } = sent;
  const beginning = await beginningOf(deps.store, { id, project: actor.project, request });
  const known = await builtBefore(deps.store, name, beginning);
  if (known) return { known };
  await refuseTaken(deps.store, name);
  const input = inputOf(c, id, name, beginning, request);
  const builders = input.stages?.map(({ builder }) => builder.id) ?? [];
  const checkers = input.ready ? [input.ready.checker.id] : [];
  await admit(deps, [...builders, ...checkers, input.bakerId], beginning.origin.size);
  return { record: recordOf(input, request, beginning), input };
}

function recordOf(input: ImageInput, request: ImageRequest, { build, content, contents }: Beginning): ImageRecord {
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

/** The build that made the source of that name of the very same; null: there is none, or not of the same. */
async function builtBefore(
  { images, bakedSources }: RequestDeps['store'],
  name: string,
  { snapshotId }: Beginning,
): Promise<ImageRecord | null> {
  if (snapshotId === null) return null;
  const made = await bakedSources.named(name);
  if (!made.some((source) => source.state === 'ready' && source.snapshotId === snapshotId)) return null;
  return images.ready(name, snapshotId);
}

/** What was asked for, and the bytes that are kept apart. */
interface Sent {
  request: ImageRequest;
  kept: KeptContext | null;
}

/** @throws MayflyError invalid_request, body_too_large, context_not_found */
async function sentBy(store: RequestDeps['store'], body: Request): Promise<Sent> {
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
  const found = contextDigest === undefined ? contextWithin(archive) : await contextSent(store, contextDigest);
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
