import { z } from '@hono/zod-openapi';
import { commandIdFrom } from '../../model/ids.ts';
import { checkPolicy } from '../../services/approvals/check-policy.ts';
import { assertAllowed } from '../../services/approvals/policy-check.ts';
import { fileEntry, listingAnswer } from '../../services/files/directory-listing.ts';
import { contentAnswer, headersOf } from '../../services/files/file-content.ts';
import { toGuestError } from '../../services/guests.ts';
import {
  readableCommand,
  readSourceFile,
  runSourceCommand,
  sourceCommandResult,
} from '../../services/sources/look-at-source.ts';
import { preparedSource } from '../../services/sources/source-host.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf } from '../http/context.ts';
import { filePathOf } from '../http/file-path.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, POLICY_CODES, pageOf, SAGA, SOURCE } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import { onHost, sourceCommand, sourceFileParams, sourceParams } from './source-schemas.ts';

const route = routeOf('sources');

const BYTES = 'application/octet-stream';

export const sourceReadRoutes: Route[] = [
  route('createSourceCommand', 'post', '/v1/sources/{name}/commands', {
    scope: 'sources:look',
    summary: 'Look at a source with a command that changes nothing',
    description:
      'Programs joined by `|`, `&&`, `||`, `;` and line ends, each with arguments from a closed table (docs/read-only.md). ' +
      'No shell runs it: it is parsed here, and checked again on the source.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceCommand },
    out: {
      200: json('It ended, however it did', sourceCommandResult),
      202: json('It waits for approval; Location says where to look', approvalAnswer),
    },
    problems: [
      POLICY_CODES,
      SAGA,
      SOURCE,
      'source_not_prepared',
      'readonly_refused',
      'guest_unreachable',
      'guest_failed',
      'too_many_requests',
      'host_key_mismatch',
    ],
    handle: async ({ c, deps, respond, params: { name }, body }) => {
      const command = readableCommand(body.command);
      const source = await preparedSource(deps.store, name, body.hostId);
      const { agentId, timeoutSeconds, maxOutputBytes } = body;
      const { id: sourceId, hostId } = source;
      const limits = { timeoutSeconds, maxOutputBytes };
      return answerOnce({ c, respond }, { idFrom: commandIdFrom }, async (call) => {
        const shown = { source: name, sourceId, hostId, command: body.command, ...limits };
        await checkPolicy(deps, call, call.apiKey.project, {
          action: 'source.command',
          agentId,
          resolve: () => Promise.resolve({ facts: { source: 'look' }, request: shown }),
        });
        const look = { source, actor: actorOf(c, agentId ?? null), signal: c.req.raw.signal };
        const request = { ...command, ...limits, text: body.command, isRepeated: !call.isFresh };
        return keep(await runSourceCommand(deps, look, request));
      });
    },
  }),
  route('getSourceFile', 'get', '/v1/sources/{name}/files/{path}', {
    scope: 'sources:look',
    summary: 'Read a file, a range of it, or a directory of a source',
    description: 'What the user mayfly-readonly may read. A symbolic link is followed.',
    in: {
      params: sourceFileParams,
      query: onHost,
      headers: z.object({ range: z.string().max(256).optional().openapi({ example: 'bytes=0-1023' }) }),
    },
    out: {
      200: {
        description: 'The content, or the entries of the directory',
        content: {
          [BYTES]: { schema: { type: 'string', format: 'binary' } },
          'application/json': { schema: pageOf(fileEntry) },
        },
      },
      206: { description: 'The range', content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } } },
    },
    problems: [
      'policy_denied',
      SAGA,
      SOURCE,
      'source_not_prepared',
      'readonly_refused',
      'file_not_found',
      'file_forbidden',
      'guest_unreachable',
      'guest_failed',
      'too_many_requests',
      'body_too_large',
      'file_conflict',
      'host_key_mismatch',
    ],
    handle: async ({ c, deps, actor, params: { name }, query: { hostId }, headers }) => {
      const path = filePathOf(c.req.path);
      await assertAllowed(deps, actor.project, { source: 'look' }, 'read it with a command');
      const source = await preparedSource(deps.store, name, hostId);
      const look = { source, actor, signal: c.req.raw.signal };
      const response = await readSourceFile(deps, look, path, headers.range);
      if (!response.ok) {
        const where = headersOf(response, BYTES).get('Content-Range');
        if (where !== null) c.header('Content-Range', where);
        throw await toGuestError(response);
      }
      if (response.headers.get('X-Mayfly-Type') === 'directory') return listingAnswer(response, path.bytes);
      return contentAnswer(response, BYTES);
    },
  }),
];
