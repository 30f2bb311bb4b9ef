import { createRoute, z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { archiveOf } from '../../model/playbook/archive.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type RequestDeps, serialised } from '../http/context.ts';
import { ASKED_FOR, BODY, CREATE, KEYED, problems } from '../http/problem-answers.ts';
import { json, keyHeaders, noQuery, pageOf } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { playbookAnswer, playbookParams, playbooksQuery, writePlaybook } from './playbook-schemas.ts';
import { playbookView, requirePlaybook } from './playbook-view.ts';
import { answerWrite } from './write-playbook.ts';

const ALL = '/v1/playbooks';
const ONE = '/v1/playbooks/{id}';
const tags = ['playbooks'];

const writeOne = createRoute({
  method: 'post',
  path: '/v1/sandboxes/{id}/playbook',
  tags,
  operationId: 'writePlaybook',
  summary: 'Write what changed in a sandbox as an Ansible playbook',
  description:
    'It is tried in a fresh sandbox of what the sandbox began as, twice, and what comes of it is compared: what it does not bring about is listed. docs/playbooks.md says what it can express.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: keyHeaders,
    body: { required: false, content: { 'application/json': { schema: writePlaybook } } },
  },
  responses: {
    200: json('It was begun by an earlier request with this Idempotency-Key, and is over', playbookAnswer),
    202: json(
      'It is being written, or waits for approval; Location says where to look',
      z.union([playbookAnswer, approvalAnswer]),
    ),
    ...problems(BODY, KEYED, CREATE, ASKED_FOR, 'sandbox_not_found', 'sandbox_not_running', 'playbook_not_found'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listPlaybooks',
  summary: 'List the playbooks of the project, newest first',
  middleware: [requires('sandboxes:read')],
  request: { query: playbooksQuery },
  responses: { 200: json('One page', pageOf(playbookAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getPlaybook',
  summary: 'Read how a playbook is coming along, and what it brings about',
  middleware: [requires('sandboxes:read')],
  request: { params: playbookParams, query: noQuery },
  responses: { 200: json('The playbook', playbookAnswer), ...problems('playbook_not_found') },
});

const archiveOne = createRoute({
  method: 'get',
  path: `${ONE}/archive`,
  tags,
  operationId: 'getPlaybookArchive',
  summary: 'Fetch a playbook: playbook.yml, its files, vars.example.yml and report.md, as a tar archive',
  middleware: [requires('sandboxes:read')],
  request: { params: playbookParams, query: noQuery },
  responses: {
    200: {
      description: 'The archive',
      content: { 'application/x-tar': { schema: z.string().openapi({ format: 'binary' }) } },
    },
    ...problems('playbook_not_found', 'playbook_not_written'),
  },
});

const cancelOne = createRoute({
  method: 'post',
  path: `${ONE}/cancel`,
  tags,
  operationId: 'cancelPlaybook',
  summary: 'Have a playbook end: its fresh sandbox is destroyed, and its snapshots go',
  middleware: [requires('sandboxes:write')],
  request: { params: playbookParams, query: noQuery },
  responses: {
    200: json('It was over before', playbookAnswer),
    202: json('It is being undone', playbookAnswer),
    ...problems('playbook_not_found', 'temporal_unavailable'),
  },
});

export function playbookRoutes(app: App): void {
  app.openapi(writeOne, async (c) => {
    const { 'idempotency-key': key } = c.req.valid('header');
    return serialised(await answerWrite(c, c.get('deps'), c.req.valid('param').id, c.req.valid('json'), key));
  });
  app.openapi(listAll, async (c) => {
    const { limit = LIMITS.page.default, cursor } = c.req.valid('query');
    const page = await c.get('deps').store.playbooks.list({ limit, cursor });
    return c.json({ ...page, items: page.items.map(playbookView) }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(playbookView(await requirePlaybook(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(archiveOne, async (c) => {
    const archive = await archiveWith(c.get('deps'), c.req.valid('param').id);
    return serialised(c.body(new Uint8Array(archive), 200, { 'Content-Type': 'application/x-tar' }));
  });
  app.openapi(cancelOne, async (c) => {
    const { id } = c.req.valid('param');
    const deps = c.get('deps');
    const record = await requirePlaybook(deps, id);
    if (isPlaybookOver(record.state)) return c.json(playbookView(record), 200);
    await deps.sagas.cancelPlaybook(id, actorOf(c));
    return c.json(playbookView(record), 202);
  });
}

/** @throws MayflyError playbook_not_found, playbook_not_written */
async function archiveWith(deps: RequestDeps, id: string): Promise<Uint8Array> {
  const { state } = await requirePlaybook(deps, id);
  const parts = await Promise.all(
    (['playbook', 'report'] as const).map((part) => deps.store.playbookParts.get(id, part)),
  );
  const [playbook, report] = parts;
  if (playbook && report) return Buffer.concat(archiveOf([playbook, report]));
  throw new MayflyError('playbook_not_written', `The playbook ${id} is ${state}: nothing of it is written.`);
}
