import { setTimeout as sleep } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { hostId, intInRange, snapshotId, sourceName } from '../../model/request-fields.ts';
import { type TemplateRecord, templateRecord } from '../../model/templates/template.ts';
import type { MakeTemplateInput, TemplateResult } from '../../model/templates/template-saga.ts';
import { placeableOrigin } from '../../services/sandboxes/placement.ts';
import { requireTemplate } from '../../services/service-deps.ts';
import { waitWithin } from '../../services/waiting.ts';
import { actorOf, type Env, type RequestDeps, waitLimit } from '../http/context.ts';
import { type Outcome, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { json, keyHeaders, pageOf, preferHeaders, SAGA, SOURCE } from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';

const templateParams = z.strictObject({
  id: snapshotId,
});

const makeTemplate = z
  .strictObject({
    source: sourceName,
    cpus: intInRange(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: intInRange(LIMITS.memoryMib, 'MiB').optional(),
    hostId: hostId.optional().openapi({ description: 'Else the one with most memory to spare' }),
  })
  .openapi('MakeTemplate', {
    description:
      'Which sandboxes wake from it: those of that source and size, of the project of the key, on that host.',
  });

const templateAnswer = templateRecord
  .omit({ installationId: true, key: true, builderId: true, probeIds: true })
  .openapi('Template');

type TemplateView = z.infer<typeof templateAnswer>;

type Request = z.output<typeof makeTemplate>;

/** Poll interval of the store, ms. */
const POLL_MS = 250;

/** Answers POST /v1/templates: a second request for the same template returns the existing one. */
async function answerMake(responder: Responder<TemplateView>, request: Request): Promise<Response> {
  const { c, deps } = responder;
  const { store, sagas } = deps;
  const again = async (id: string) => {
    const record = await store.templates.get(id);
    return record && outcomeOf(record);
  };
  return answerOnce(responder, { idFrom: snapshotIdFrom, again }, async (attempt) => {
    const templateId = attempt.subjectId;
    const input = await inputOf(c, deps, templateId, request);
    await sagas.templates.make(input);
    const made = await awaitTemplate(c, deps, input);
    return outcomeOf(await requireTemplate(deps, made.templateId));
  });
}

function outcomeOf(record: TemplateRecord): Outcome<TemplateView> {
  return reply(record.state === 'ready' ? 200 : 202, record);
}

/** @throws MayflyError what {@link placeableOrigin} throws */
async function inputOf(
  c: Context<Env>,
  { store }: RequestDeps,
  templateId: string,
  { source, cpus, memoryMib, hostId }: Request,
): Promise<MakeTemplateInput> {
  const size = { ...(cpus && { cpus }), ...(memoryMib && { memoryMib }) };
  const { hosts } = await placeableOrigin(store, { source, ...size });
  const actor = actorOf(c);
  const host = hostAmong(hosts, hostId, source);
  const of = { project: actor.project, source, cpus: cpus ?? null, memoryMib: memoryMib ?? null };
  return { templateId, ...host, ...of, actor };
}

/** @throws MayflyError no_host */
function hostAmong(hosts: readonly HostRef[], wanted: string | undefined, source: string): HostRef {
  const host = hosts.find(({ hostId }) => wanted === undefined || hostId === wanted);
  if (host) return host;
  throw new MayflyError('no_host', `${wanted ?? 'No host'} has no source ${JSON.stringify(source)}, or is away.`);
}

/** @throws MayflyError of the refusal; host_unavailable while undecided */
async function awaitTemplate(
  c: Context<Env>,
  deps: RequestDeps,
  { templateId, hostId }: MakeTemplateInput,
): Promise<{ templateId: string }> {
  let made: TemplateResult | undefined;
  await waitWithin(deps, waitLimit(c, LIMITS.waitSeconds.default), async (signal) => {
    made = await deps.sagas.templates.made(templateId, signal);
  });
  if (made === undefined) {
    throw new MayflyError('host_unavailable', `${hostId} has not told yet which template that is.`, {
      retryAfterSeconds: 5,
      mayHaveBegun: true,
    });
  }
  if ('refused' in made) throw new MayflyError(made.refused.code, made.refused.message);
  return made;
}

/** Answers DELETE /v1/templates/{id}. */
function answerRemove(responder: Responder<TemplateView>, id: string): Promise<Response> {
  const { deps } = responder;
  const read = () => requireTemplate(deps, id);
  return answerDeletion(responder, {
    read,
    view: (template) => template,
    isGone: ({ state }) => state === 'gone',
    begin: ({ key: templateKey, hostId, installationId, project, source, cpus, memoryMib }, actor) =>
      deps.sagas.templates.remove({ templateKey, hostId, installationId, project, source, cpus, memoryMib, actor }, id),
    ended: async (_record, signal) => {
      while ((await read()).state !== 'gone') await sleep(POLL_MS, undefined, { signal });
    },
  });
}

const route = routeOf('templates');

const ALL = '/v1/templates';
const ONE = '/v1/templates/{id}';
const location = ({ id }: { id: string }) => `${ALL}/${id}`;

export const templateRoutes: Route[] = [
  route('createTemplate', 'post', ALL, {
    scope: 'admin',
    summary: 'Have the memory of a booted guest saved, to wake sandboxes from',
    description:
      'A guest is booted without a network, saved, and two sandboxes woken from it are compared; that takes about two cold ' +
      'creates. Where there is one, or one is being made, the answer is that. Sandboxes that boot cold since there was none ask for it too.',
    in: { headers: keyHeaders, body: makeTemplate },
    out: {
      200: json('It is ready', templateAnswer),
      202: json('It is being made; Location says where to look', templateAnswer),
    },
    problems: [SAGA, SOURCE, 'template_unsupported', 'template_not_found', 'exceeds_hosts', 'source_differs'],
    location,
    handle: (call) => answerMake(call, call.body),
  }),
  route('listTemplates', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the templates that are not gone, newest first',
    out: { 200: json('All of them', pageOf(templateAnswer)) },
    handle: async ({ store }) => ({ items: await store.templates.present(), nextCursor: null }),
  }),
  route('getTemplate', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one template',
    in: { params: templateParams },
    out: { 200: json('The template', templateAnswer) },
    problems: ['template_not_found'],
    handle: async ({ deps, params }) => await requireTemplate(deps, params.id),
  }),
  route('deleteTemplate', 'delete', ONE, {
    scope: 'admin',
    summary: 'Have a template go: none wakes from it any more, and those that did live on',
    in: { params: templateParams, headers: preferHeaders },
    out: {
      200: json('None wakes from it, and nothing refers to it but what woke', templateAnswer),
      202: json('It is being removed; Location says where to look', templateAnswer),
    },
    problems: ['template_not_found', 'temporal_unavailable'],
    location,
    handle: (call) => answerRemove(call, call.params.id),
  }),
];
