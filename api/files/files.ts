import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { assertAllowed } from '../../services/approvals/policy-check.ts';
import { recordAccess } from '../../services/audit/record-access.ts';
import { agentEntry, entryView, fileEntry, listingAnswer } from '../../services/files/directory-listing.ts';
import { assertOk, FileAccess } from '../../services/files/file-access.ts';
import { contentAnswer, headersOf } from '../../services/files/file-content.ts';
import { smallJsonOf, toGuestError } from '../../services/guests.ts';
import { actorOf, type Env } from '../http/context.ts';
import { filePathOf } from '../http/file-path.ts';
import { type Route, routeOf } from '../http/route.ts';
import { GUEST, json, pageOf } from '../http/schemas.ts';
import { sandboxOfPath, wakeAndTouch } from '../resources/entered-sandbox.ts';
import {
  deleteFileQuery,
  fileParams,
  getFileHeaders,
  getFileQuery,
  putFileQuery,
  unpackedAnswer,
  writtenAnswer,
} from './file-schemas.ts';

const route = routeOf('files');

const ONE = '/v1/sandboxes/{id}/files/{path}';
const TAR = 'application/x-tar';
const BYTES = 'application/octet-stream';
const binary = { schema: { type: 'string', format: 'binary' } } as const;

export const fileRoutes: Route[] = [
  route('getFile', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read a file, a range of it, or a directory',
    description:
      'A symbolic link is followed; HEAD describes the link itself, in the `X-Mayfly-` headers. A directory is answered as ' +
      'JSON, one page in the order of its names (with `limit` or `cursor` nothing else is), or as a tar archive with `?format=tar` or `Accept: application/x-tar`.',
    in: { params: fileParams, query: getFileQuery, headers: getFileHeaders },
    out: {
      200: {
        description: 'The content, the page, or the archive',
        content: { [BYTES]: binary, [TAR]: binary, 'application/json': { schema: pageOf(fileEntry) } },
      },
      206: { description: 'The range', content: { [BYTES]: binary } },
    },
    problems: [GUEST, 'file_not_found', 'file_forbidden', 'file_conflict', 'range_not_satisfiable'],
    handle: ({ c, params: { id }, query, headers }) => {
      if (c.req.method === 'HEAD') return answerHead(c, id);
      return answerGet(c, id, { ...query, ...headers });
    },
  }),
  route('putFile', 'put', ONE, {
    scope: 'sandboxes:write',
    summary: 'Write a file as a whole, or unpack an archive into a directory',
    description:
      'The new content is there when all of it has been written, or not at all. A symbolic link is followed. Without `mode`, ' +
      '`user` and `group`, what a file had stays; a new one gets 0644 and the login user. `Content-Type: application/x-tar` ' +
      'unpacks below the path, for the login user unless `user` or `keepOwners` says otherwise.',
    limit: null,
    in: {
      params: fileParams,
      query: putFileQuery,
      media: { required: true, content: { [BYTES]: binary, [TAR]: binary } },
    },
    out: { 200: json('It replaced a file; or what was unpacked', writtenAnswer), 201: json('It is new', fileEntry) },
    problems: [
      'policy_denied',
      GUEST,
      'file_not_found',
      'file_forbidden',
      'file_conflict',
      'guest_disk_full',
      'body_too_large',
      'unsupported_media_type',
    ],
    handle: ({ c, params: { id }, query }) => {
      const isArchive = c.req.header('Content-Type')?.split(';')[0]?.trim().toLowerCase() === TAR;
      const answer = isArchive ? answerUnpack : answerPut;
      return answer(c, id, query);
    },
  }),
  route('deleteFile', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Remove a file, a link, or a directory',
    description:
      'A directory with content only with `recursive=true`, which goes on to its end whoever leaves meanwhile.',
    in: { params: fileParams, query: deleteFileQuery },
    out: { 204: { description: 'It is gone' } },
    problems: ['policy_denied', GUEST, 'file_not_found', 'file_forbidden', 'file_conflict'],
    handle: async ({ c, params, query: { recursive } }) => {
      const operation = recursive === 'true' ? 'remove-recursive' : 'remove';
      const access = await beginAccess(c, params.id, 'file.removed', operation);
      await assertOk(await access.ask('DELETE', 'files', { recursive }));
    },
  }),
];

type Operation = 'stat' | 'read' | 'archive' | 'write' | 'unpack' | 'remove' | 'remove-recursive';

/**
 * Wakes the sandbox, and records the access in the audit before it happens. The agent writes as root.
 * @throws MayflyError policy_denied, invalid_request, temporal_unavailable, and as {@link wakeAndTouch}
 */
async function beginAccess(
  c: Context<Env>,
  sandboxId: string,
  kind: Extract<AuditKind, `file.${string}`>,
  operation: Operation,
): Promise<FileAccess> {
  const deps = c.get('deps');
  const path = filePathOf(c.req.path);
  if (kind !== 'file.read') {
    const asRoot = { runs: { commands: [], user: 'root' } };
    const { project } = await sandboxOfPath(c, sandboxId);
    await assertAllowed(deps, project, asRoot, 'write the file with a command');
  }
  const place = await wakeAndTouch(c, sandboxId);
  const detail = { path: path.encoded, operation };
  await recordAccess(deps, sandboxId, { kind, actor: actorOf(c), hostId: place.hostId, detail });
  return new FileAccess(deps, place, path);
}

async function answerHead(c: Context<Env>, id: string): Promise<Response> {
  const access = await beginAccess(c, id, 'file.read', 'stat');
  const response = await access.ask('HEAD', 'files');
  if (!response.ok) throw await toGuestError(response);
  return new Response(null, { headers: headersOf(response, BYTES) });
}

type GetOptions = z.infer<typeof getFileQuery> & z.infer<typeof getFileHeaders>;

async function answerGet(c: Context<Env>, id: string, options: GetOptions): Promise<Response> {
  const { format, limit, cursor, accept, range, 'if-range': ifRange } = options;
  const asArchive = format === 'tar' || accept?.trim().toLowerCase() === TAR;
  const operation = asArchive ? 'archive' : 'read';
  const access = await beginAccess(c, id, 'file.read', operation);
  if (asArchive) return contentAnswer(await assertOk(await access.ask('GET', 'tar')), TAR);

  if (limit !== undefined || cursor !== undefined) return answerList(access, limit, cursor);
  const headers = { ...(range && { range }), ...(ifRange && { 'if-range': ifRange }) };
  const response = await access.ask('GET', 'files', {}, { headers });
  if (response.ok) return contentAnswer(response, BYTES);
  const error = await toGuestError(response);
  if (error.code === 'file_conflict' && response.headers.get('X-Mayfly-Type') === 'directory') {
    return answerList(access, limit, cursor);
  }
  if (error.code === 'range_not_satisfiable') {
    const where = headersOf(response, BYTES).get('Content-Range');
    if (where !== null) c.header('Content-Range', where);
  }
  throw error;
}

async function answerList(access: FileAccess, limit?: number, after?: string): Promise<Response> {
  return listingAnswer(await assertOk(await access.ask('GET', 'directory', { limit, after })), access.path.bytes);
}

type PutOptions = z.infer<typeof putFileQuery>;

async function answerPut(c: Context<Env>, id: string, query: PutOptions): Promise<Response> {
  if (query.keepOwners !== undefined) throw onlyFor('keepOwners', 'an archive');
  const access = await beginAccess(c, id, 'file.written', 'write');
  const response = await assertOk(await access.ask('PUT', 'files', query, { body: bodyOf(c) }));
  const entry = agentEntry.safeParse(await smallJsonOf(response));
  if (!entry.success) throw unclear(entry.error);
  const { bytes } = access.path;
  const directory = bytes.subarray(0, bytes.lastIndexOf(0x2f) + 1);
  return c.json(entryView(entry.data, directory), response.status === 201 ? 201 : 200);
}

async function answerUnpack(c: Context<Env>, id: string, query: PutOptions): Promise<Response> {
  if (query.mode !== undefined) throw onlyFor('mode', 'one file');
  const access = await beginAccess(c, id, 'file.written', 'unpack');
  const response = await assertOk(await access.ask('PUT', 'tar', query, { body: bodyOf(c) }));
  const unpacked = unpackedAnswer.safeParse(await smallJsonOf(response));
  if (!unpacked.success) throw unclear(unpacked.error);
  return c.json(unpacked.data, 200);
}

function bodyOf(c: Context<Env>): ReadableStream<Uint8Array> | Uint8Array {
  return c.req.raw.body ?? new Uint8Array();
}

function onlyFor(field: string, what: string): MayflyError {
  const problem = `is only for ${what}`;
  return new MayflyError('invalid_request', `The query is not valid: ${field} ${problem}.`, {
    fields: [{ field, problem }],
  });
}

function unclear(cause: unknown): MayflyError {
  return new MayflyError('guest_failed', 'The guest answered something else than what it wrote.', { cause });
}
