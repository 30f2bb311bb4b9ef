import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { commandIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';
import { readReadonlyCommand } from '../../model/readonly/readonly-command.ts';
import { refusalOf } from '../../services/guests.ts';
import { preparedSource } from '../../services/sources/source-host.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { askPermission, refuseUnlessAllowed } from '../approvals/permission.ts';
import { listingAnswer } from '../files/directory-listing.ts';
import { succeeded } from '../files/file-access.ts';
import { contentAnswer, headersOf } from '../files/file-answer.ts';
import { fileEntry } from '../files/file-schemas.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { FilePath } from '../http/file-path.ts';
import { answerOnce } from '../http/idempotency.ts';
import { ASKED_FOR, SAGA, SOURCE } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, pageOf } from '../http/schemas.ts';
import { recordAccess } from '../resources/record-access.ts';
import { onHost, sourceCommand, sourceCommandAnswer, sourceFileParams, sourceParams } from './source-schemas.ts';

const route = routeOf('sources');

const BYTES = 'application/octet-stream';

export const sourceReadRoutes: Route[] = [
  route('runSourceCommand', 'post', '/v1/sources/{name}/commands', {
    scope: 'sources:look',
    summary: 'Look at a source with a command that changes nothing',
    description:
      'Programs joined by `|`, `&&`, `||`, `;` and line ends, each with arguments from a closed table (docs/read-only.md). ' +
      'No shell runs it: it is parsed here, and checked again on the source.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: sourceCommand },
    out: {
      200: json('It ended, however it did', sourceCommandAnswer),
      202: json('It waits for approval; Location says where to look', approvalAnswer),
    },
    problems: [
      ASKED_FOR,
      SAGA,
      SOURCE,
      'source_not_prepared',
      'readonly_refused',
      'guest_unreachable',
      'guest_failed',
      'too_many_requests',
      'host_key_mismatch',
    ],
    handle: ({ c, deps, params: { name }, body }) => answerCommand(c, deps, name, body),
  }),
  route('readSourceFile', 'get', '/v1/sources/{name}/files/{path}', {
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
    handle: ({ c, deps, params: { name }, query: { hostId }, headers }) =>
      answerFile(c, deps, name, hostId, headers.range),
  }),
];

async function answerCommand(
  c: Context<Env>,
  deps: RequestDeps,
  name: string,
  body: z.output<typeof sourceCommand>,
): Promise<Response> {
  const command = readableCommand(body.command);
  const source = await preparedSource(deps.store, name, body.hostId);
  const { timeoutSeconds, maxOutputBytes } = LIMITS.sourceCommand;
  const request = {
    ...command,
    timeoutSeconds: body.timeoutSeconds ?? timeoutSeconds.default,
    maxOutputBytes: body.maxOutputBytes ?? maxOutputBytes,
  };
  return answerOnce(c, { idFrom: commandIdFrom, body }, async (attempt) => {
    const waiting = await askPermission(c, deps, attempt, {
      action: 'source.command',
      project: c.get('apiKey').project,
      agentId: body.agentId,
      resolve: () => {
        const { id: sourceId, hostId } = source;
        const { timeoutSeconds: seconds, maxOutputBytes: bytes } = request;
        const shown = {
          source: name,
          sourceId,
          hostId,
          command: body.command,
          timeoutSeconds: seconds,
          maxOutputBytes: bytes,
        };
        return Promise.resolve({ facts: { source: 'look' }, request: shown });
      },
    });
    if (waiting) return waiting;
    const { isFresh } = attempt;
    const detail = { source: name, command: body.command, ...(isFresh ? {} : { repeated: true }) };
    await recordAccess(c, deps, source.id, {
      kind: 'source.command',
      hostId: source.hostId,
      detail,
      agentId: body.agentId,
    });
    const answer = await deps.guests.request(source.hostId, `/sources/${encodeURIComponent(name)}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new TextEncoder().encode(JSON.stringify(request)),
      signal: c.req.raw.signal,
    });
    const result = sourceCommandAnswer.parse(await (await succeeded(answer)).json());
    return { response: c.json(result, 200), isKept: true };
  });
}

/** @throws MayflyError readonly_refused with the position and the reason */
function readableCommand(text: string): ReadonlyCommand {
  const read = readReadonlyCommand(text);
  if ('command' in read) return read.command;
  const { position, reason } = read.refusal;
  const problem = position === null ? reason : `at ${position}: ${reason}`;
  throw new MayflyError('readonly_refused', `The command was not run: ${problem}.`, {
    fields: [{ field: 'command', problem }],
  });
}

async function answerFile(
  c: Context<Env>,
  deps: RequestDeps,
  name: string,
  hostId: string | undefined,
  range: string | undefined,
): Promise<Response> {
  const path = FilePath.of(c.req.path);
  const instead = 'read it with a command';
  await refuseUnlessAllowed(deps, c.get('apiKey').project, { source: 'look' }, instead);
  const source = await preparedSource(deps.store, name, hostId);
  const detail = { source: name, path: path.encoded };
  await recordAccess(c, deps, source.id, { kind: 'source.file', hostId: source.hostId, detail });
  const target = `/sources/${encodeURIComponent(name)}/files?path=${path.base64url}`;
  const response = await deps.guests.request(source.hostId, target, {
    headers: { ...(range && { range }) },
    signal: c.req.raw.signal,
  });
  if (!response.ok) {
    const where = headersOf(response, BYTES).get('Content-Range');
    if (where !== null) c.header('Content-Range', where);
    throw await refusalOf(response);
  }
  if (response.headers.get('X-Mayfly-Type') === 'directory') return listingAnswer(response, path.bytes);
  return contentAnswer(response, BYTES);
}
