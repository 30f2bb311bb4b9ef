import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { finishArchive } from '../../model/playbook/archive.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { requirePlaybook } from '../../services/service-deps.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, type RequestDeps } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { CREATE, json, keyHeaders, POLICY_CODES, pageOf, pageQuery } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { answerWrite, playbookAnswer, playbookParams, playbookView, writePlaybook } from './described.ts';

const route = routeOf('playbooks');

const ALL = '/v1/playbooks';
const ONE = '/v1/playbooks/{id}';

export const playbookRoutes: Route[] = [
  route('createPlaybook', 'post', '/v1/sandboxes/{id}/playbook', {
    scope: 'sandboxes:write',
    summary: 'Write what changed in a sandbox as an Ansible playbook',
    description:
      'It is tried in a fresh sandbox of what the sandbox began as, twice, and what comes of it is compared: what it does not bring about is listed. docs/playbooks.md says what it can express.',
    in: { params: sandboxParams, headers: keyHeaders, body: writePlaybook },
    out: {
      200: json('It was begun by an earlier request with this Idempotency-Key, and is over', playbookAnswer),
      202: json(
        'It is being written, or waits for approval; Location says where to look',
        z.union([playbookAnswer, approvalAnswer]),
      ),
    },
    problems: [CREATE, POLICY_CODES, 'sandbox_not_found', 'sandbox_not_running', 'playbook_not_found'],
    location: ({ id }) => `${ALL}/${id}`,
    handle: (call) => answerWrite(call, call.params.id, call.body),
  }),
  route('listPlaybooks', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the playbooks of the project, newest first',
    in: { query: pageQuery },
    out: { 200: json('One page', pageOf(playbookAnswer)) },
    handle: async ({ store, query }) => {
      const page = await store.playbooks.list(query);
      return { ...page, items: page.items.map(playbookView) };
    },
  }),
  route('getPlaybook', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read how a playbook is coming along, and what it brings about',
    in: { params: playbookParams },
    out: { 200: json('The playbook', playbookAnswer) },
    problems: ['playbook_not_found'],
    handle: async ({ deps, params }) => playbookView(await requirePlaybook(deps, params.id)),
  }),
  route('getPlaybookArchive', 'get', `${ONE}/archive`, {
    scope: 'sandboxes:read',
    summary: 'Fetch a playbook: playbook.yml, its files, vars.example.yml and report.md, as a tar archive',
    in: { params: playbookParams },
    out: {
      200: {
        description: 'The archive',
        content: { 'application/x-tar': { schema: z.string().openapi({ format: 'binary' }) } },
      },
    },
    problems: ['playbook_not_found', 'playbook_not_written'],
    handle: async ({ c, deps, params }) => {
      const archive = await archiveWith(deps, params.id);
      return c.body(new Uint8Array(archive), 200, { 'Content-Type': 'application/x-tar' });
    },
  }),
  route('cancelPlaybook', 'post', `${ONE}/cancel`, {
    scope: 'sandboxes:write',
    summary: 'Have a playbook end: its fresh sandbox is destroyed, and its snapshots go',
    in: { params: playbookParams },
    out: { 200: json('It was over before', playbookAnswer), 202: json('It is being undone', playbookAnswer) },
    problems: ['playbook_not_found', 'temporal_unavailable'],
    handle: async ({ c, deps, params: { id } }) => {
      const record = await requirePlaybook(deps, id);
      if (isPlaybookOver(record.state)) return playbookView(record);
      await deps.sagas.playbooks.cancel(id, actorOf(c));
      return reply(202, playbookView(record));
    },
  }),
];

/** @throws MayflyError playbook_not_found, playbook_not_written */
async function archiveWith(deps: RequestDeps, id: string): Promise<Uint8Array> {
  const { state } = await requirePlaybook(deps, id);
  const parts = await Promise.all(
    (['playbook', 'report'] as const).map((part) => deps.store.playbookParts.get(id, part)),
  );
  const [playbook, report] = parts;
  if (playbook && report) return Buffer.concat(finishArchive([playbook, report]));
  throw new MayflyError('playbook_not_written', `The playbook ${id} is ${state}: nothing of it is written.`);
}
