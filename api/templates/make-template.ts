import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { TemplateRecord } from '../../model/templates/template.ts';
import type { MadeTemplate, MakeTemplateInput } from '../../model/templates/template-saga.ts';
import { requireTemplate } from '../../services/require.ts';
import { placeableOrigin } from '../../services/sandboxes/placement.ts';
import { waitWithin } from '../../services/waiting.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { type Outcome, type Responder, reply } from '../http/route.ts';
import { waitLimit } from '../http/waiting.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';
import type { makeTemplate, TemplateView } from './template-schemas.ts';

type Request = z.output<typeof makeTemplate>;

/** The store notifies nobody. Milliseconds. */
const LOOK_EVERY_MS = 250;

/** POST /v1/templates: there is one of a kind, so who asks for one that is there, or is being made, is told of that. */
export async function answerMake(responder: Responder<TemplateView>, request: Request): Promise<Response> {
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
    const made = await known(c, deps, input);
    return outcomeOf(await requireTemplate(deps, made.templateId));
  });
}

function outcomeOf(record: TemplateRecord): Outcome<TemplateView> {
  return reply(record.state === 'ready' ? 200 : 202, record);
}

/** @throws MayflyError what {@link placeableOrigin} refuses with */
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

/** @throws MayflyError why none is made; host_unavailable while that is not known */
async function known(
  c: Context<Env>,
  deps: RequestDeps,
  { templateId, hostId }: MakeTemplateInput,
): Promise<{ templateId: string }> {
  let made: MadeTemplate | undefined;
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

/** DELETE /v1/templates/{id} */
export function answerRemove(responder: Responder<TemplateView>, id: string): Promise<Response> {
  const { deps } = responder;
  const read = () => requireTemplate(deps, id);
  return answerDeletion(responder, {
    read,
    view: (template) => template,
    isGone: ({ state }) => state === 'gone',
    begin: ({ key: templateKey, hostId, installationId, project, source, cpus, memoryMib }, actor) =>
      deps.sagas.templates.remove({ templateKey, hostId, installationId, project, source, cpus, memoryMib, actor }, id),
    ended: async (_record, signal) => {
      while ((await read()).state !== 'gone') await sleep(LOOK_EVERY_MS, undefined, { signal });
    },
  });
}
