import { isDeepStrictEqual } from 'node:util';
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { imageIdFrom, operationIdFrom, sandboxIdFrom } from '../../model/ids.ts';
import type { ImageRecord, ImageRequest } from '../../model/image/image.ts';
import type { ImageInput } from '../../model/image/image-saga.ts';
import { describedContext } from '../../model/image/sent-context.ts';
import { LIMITS } from '../../model/limits.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Attempt, answerOnce, freedWhenRefused, furtherId, isHeard } from '../http/idempotency.ts';
import { admit } from '../resources/admission.ts';
import { refuseForeignName, refuseTaken } from '../sources/source-baking.ts';
import { type Beginning, beginningOf } from './beginning.ts';
import { builderInput } from './builder-input.ts';
import type { buildImage } from './image-schemas.ts';
import { imageView } from './image-view.ts';

type Request = z.output<typeof buildImage>;

/** POST /v1/images: of a name there is one build at a time, so who asks for the one that runs is told of that. */
export async function answerBuild(
  c: Context<Env>,
  deps: RequestDeps,
  body: Request,
  key: string | undefined,
): Promise<Response> {
  const { store } = deps;
  return answerOnce(c, store, { idFrom: imageIdFrom, key, body }, async (attempt) => {
    const record = await freedWhenRefused(store, attempt, () => begun(c, deps, attempt, body));
    c.header('Location', `/v1/images/${record.id}`);
    return { response: c.json(imageView(record), 202), isKept: isHeard(c) };
  });
}

async function begun(c: Context<Env>, deps: RequestDeps, attempt: Attempt, body: Request): Promise<ImageRecord> {
  const { store, sagas } = deps;
  const { subjectId: id } = attempt;
  const present = attempt.isFresh ? null : await store.images.get(id);
  if (present && present.state !== 'queued') return present;
  const sent = sentBy(body);
  const wish = await wished(c, deps, id, body.name, sent);
  if ('known' in wish) return wish.known;
  const { record, input } = wish;
  if (sent.archive) await store.imageContexts.keep(id, sent.archive);
  await store.images.create(record);
  const running = await sagas.buildImage(input);
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
  const { build, first, snapshotId, content, origin } = beginning;
  const known = await builtBefore(deps.store, name, beginning);
  if (known) return { known };
  await refuseTaken(deps, name);
  const ids = { builderId: furtherId(sandboxIdFrom, id, 'builder'), bakerId: furtherId(sandboxIdFrom, id, 'baker') };
  await admit(deps, [ids.builderId, ids.bakerId], origin.size);
  const at = new Date().toISOString();
  const steps = build.steps.length;
  const builder = builderInput(c, ids.builderId, name, origin, at);
  const bakeId = furtherId(operationIdFrom, id, 'bake');
  const record: ImageRecord = {
    id,
    project: actor.project,
    name,
    state: 'queued',
    request,
    source: build.source,
    content,
    builderId: ids.builderId,
    steps,
    cached: first,
    done: first,
    snapshotId,
    failure: null,
    waitingFor: null,
    createdBy: actor,
    createdAt: at,
    readyAt: null,
    updatedAt: at,
  };
  return {
    record,
    input: { imageId: id, name, builder, first, steps, snapshotId, bakeId, bakerId: ids.bakerId, actor },
  };
}

/** The build that made the source of that name of the very same; null: there is none, or not of the same. */
async function builtBefore(
  { images, bakedSources }: RequestDeps['store'],
  name: string,
  { build, first, snapshotId }: Beginning,
): Promise<ImageRecord | null> {
  if (first < build.steps.length) return null;
  const made = await bakedSources.named(name);
  if (!made.some((source) => source.state === 'ready' && source.snapshotId === snapshotId)) return null;
  const latest = await images.latest(LIMITS.page.max);
  return latest.find((image) => image.name === name && image.state === 'ready') ?? null;
}

/** What was asked for, and the bytes that are kept apart. */
interface Sent {
  request: ImageRequest;
  archive: Uint8Array | null;
}

/** @throws MayflyError invalid_request, body_too_large */
function sentBy({ dockerfile, args = {}, target, aliases = {}, network, context }: Request): Sent {
  const archive = context === undefined ? null : Buffer.from(context, 'base64');
  const request = {
    dockerfile,
    args,
    target: target ?? null,
    aliases,
    network: network ?? { egress: 'none' as const },
    context: archive && describedContext(archive),
  };
  return { request, archive };
}
