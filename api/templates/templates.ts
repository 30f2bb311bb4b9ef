import { createRoute } from '@hono/zod-openapi';
import { requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { BODY, KEYED, problems, SAGA, SOURCE } from '../http/problem-answers.ts';
import { json, keyHeaders, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerMake, answerRemove } from './make-template.ts';
import { makeTemplate, templateAnswer, templateParams } from './template-schemas.ts';
import { requireTemplate, templateView } from './template-view.ts';

const ALL = '/v1/templates';
const ONE = '/v1/templates/{id}';
const tags = ['templates'];

const makeOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'createTemplate',
  summary: 'Have the memory of a booted guest saved, to wake sandboxes from',
  description:
    'A guest is booted without a network, saved, and two sandboxes woken from it are compared; that takes about two cold ' +
    'creates. Where there is one, or one is being made, the answer is that. Sandboxes that boot cold since there was none ask for it too.',
  middleware: [requires('admin')],
  request: {
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: makeTemplate } } },
  },
  responses: {
    200: json('It is ready', templateAnswer),
    202: json('It is being made; Location says where to look', templateAnswer),
    ...problems(
      BODY,
      KEYED,
      SAGA,
      SOURCE,
      'template_unsupported',
      'template_not_found',
      'exceeds_hosts',
      'source_differs',
    ),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listTemplates',
  summary: 'List the templates that are not gone, newest first',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All of them', pageOf(templateAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getTemplate',
  summary: 'Read one template',
  middleware: [requires('sandboxes:read')],
  request: { params: templateParams, query: noQuery },
  responses: { 200: json('The template', templateAnswer), ...problems('template_not_found') },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'deleteTemplate',
  summary: 'Have a template go: none wakes from it any more, and those that did live on',
  middleware: [requires('admin')],
  request: { params: templateParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('None wakes from it, and nothing refers to it but what woke', templateAnswer),
    202: json('It is being removed; Location says where to look', templateAnswer),
    ...problems('template_not_found', 'temporal_unavailable'),
  },
});

export function templateRoutes(app: App): void {
  app.openapi(makeOne, async (c) => {
    const { 'idempotency-key': key } = c.req.valid('header');
    return serialised(await answerMake(c, c.get('deps'), c.req.valid('json'), key));
  });
  app.openapi(listAll, async (c) => {
    const items = await c.get('deps').store.templates.present();
    return c.json({ items: items.map(templateView), nextCursor: null }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(templateView(await requireTemplate(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(deleteOne, async (c) => {
    const { prefer } = c.req.valid('header');
    return serialised(await answerRemove(c, c.get('deps'), c.req.valid('param').id, prefer));
  });
}
