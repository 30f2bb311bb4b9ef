import { requireTemplate } from '../../services/require.ts';
import { SAGA, SOURCE } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json, keyHeaders, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerMake, answerRemove } from './make-template.ts';
import { makeTemplate, templateAnswer, templateParams } from './template-schemas.ts';

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
