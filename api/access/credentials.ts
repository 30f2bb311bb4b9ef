import { createRoute, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { CertificateRecord, Revocation } from '../../model/sandbox/certificate.ts';
import { isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { ASKED_FOR, BODY, KEYED, problems, RUNNING, SAGA } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, preferHeaders } from '../http/schemas.ts';
import { waitWithin } from '../http/waiting.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import {
  credentialAnswer,
  credentialList,
  credentialParams,
  credentialView,
  issueCredential,
  issuedAnswer,
} from './credential-schemas.ts';
import { answerIssue } from './issue-credential.ts';

const ALL = '/v1/sandboxes/{id}/credentials';
const ONE = `${ALL}/{credential}`;
const tags = ['credentials'];

const issueOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'issueCredential',
  summary: 'Sign your own public key for one sandbox',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: true, content: { 'application/json': { schema: issueCredential } } },
  },
  responses: {
    201: json('A certificate, and where it opens', issuedAnswer),
    202: json('It waits for approval; Location says where to look', approvalAnswer),
    ...problems(BODY, KEYED, ASKED_FOR, RUNNING, SAGA, 'public_key_refused', 'source_not_prepared'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listCredentials',
  summary: 'List the certificates of a sandbox, newest first',
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: noQuery },
  responses: {
    200: json('All of them, without the certificates themselves', credentialList),
    ...problems('sandbox_not_found'),
  },
});

const revokeOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'revokeCredential',
  summary: 'Revoke one certificate, and end the sessions it has opened',
  middleware: [requires('sandboxes:write')],
  request: { params: credentialParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('The guest refuses it; none of its sessions is left', credentialAnswer),
    202: json('Asked for; the guest is not seen to refuse it yet', credentialAnswer),
    ...problems(SAGA, 'sandbox_not_found', 'certificate_not_found', 'sandbox_ended'),
  },
});

const revokeAll = createRoute({
  method: 'delete',
  path: ALL,
  tags,
  operationId: 'revokeCredentials',
  summary: 'Revoke every certificate that callers have, and end their sessions; the platform keeps its own',
  middleware: [requires('sandboxes:write')],
  request: { params: sandboxParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('The guest refuses all of them', credentialList),
    202: json('Asked for; the guest is not seen to refuse all of them yet', credentialList),
    ...problems(SAGA, 'sandbox_not_found', 'sandbox_ended'),
  },
});

export function credentialRoutes(app: App): void {
  app.openapi(issueOne, async (c) => {
    const record = await requireSandbox(c.get('deps'), c.req.valid('param').id);
    return serialised(await answerIssue(c, c.get('deps'), record, c.req.valid('json'), c.req.valid('header')));
  });
  app.openapi(listAll, async (c) => {
    const { id } = await requireSandbox(c.get('deps'), c.req.valid('param').id);
    const all = await c.get('deps').store.certificates.of(id);
    return c.json({ items: all.map(credentialView), nextCursor: null }, 200);
  });
  app.openapi(revokeOne, async (c) => {
    const { id, credential } = c.req.valid('param');
    const sandbox = await requireSandbox(c.get('deps'), id);
    const { serial } = await revocable(c.get('deps'), id, credential);
    await revoke(c, c.get('deps'), sandbox, [serial], c.req.valid('header').prefer);
    const [certificate] = await read(c.get('deps'), [serial]);
    if (!certificate) throw notThere(id);
    return c.json(certificate, certificate.refusedAt === null ? 202 : 200);
  });
  app.openapi(revokeAll, async (c) => {
    const sandbox = await requireSandbox(c.get('deps'), c.req.valid('param').id);
    const meant = (await c.get('deps').store.certificates.of(sandbox.id)).filter(({ purpose }) => purpose === 'caller');
    if (meant.length > 0) await revoke(c, c.get('deps'), sandbox, 'all', c.req.valid('header').prefer);
    const items = await read(
      c.get('deps'),
      meant.map(({ serial }) => serial),
    );
    const held = items.every(({ refusedAt }) => refusedAt !== null);
    return c.json({ items, nextCursor: null }, held ? 200 : 202);
  });
}

/** By serial or by key id. @throws MayflyError certificate_not_found */
async function revocable({ store }: RequestDeps, sandboxId: string, credential: string): Promise<CertificateRecord> {
  const serial = / certificate=(\d+)$/.exec(credential)?.[1] ?? credential;
  const record = await store.certificates.get(serial);
  if (!record || record.sandboxId !== sandboxId || ![record.serial, record.keyId].includes(credential)) {
    throw notThere(sandboxId);
  }
  if (record.purpose === 'caller') return record;
  const why = `The certificate ${serial} of ${sandboxId} is the platform's own, which ends with the sandbox.`;
  throw new MayflyError('certificate_not_found', why);
}

/** @throws MayflyError sandbox_ended: its certificates have ended with it */
async function revoke(
  c: Context<Env>,
  deps: RequestDeps,
  sandbox: SandboxRecord,
  serials: Revocation['serials'],
  prefer: string | undefined,
): Promise<void> {
  if (isFinal(sandbox.state) || sandbox.state === 'destroying') {
    throw new MayflyError(
      'sandbox_ended',
      `The sandbox ${sandbox.id} is ${sandbox.state}; its certificates have ended with it.`,
    );
  }
  const preference = preferenceOf(prefer);
  const actor = actorOf(c);
  await deps.sagas.changeTrust(sandbox.id, { serials, actor });
  await waitWithin(c, deps, preference.seconds, (signal) => deps.sagas.trusted(sandbox.id, signal));
  if (preference.applied) c.header('Preference-Applied', preference.applied);
}

async function read({ store }: RequestDeps, serials: string[]): Promise<z.infer<typeof credentialAnswer>[]> {
  const found = await Promise.all(serials.map((serial) => store.certificates.get(serial)));
  return found.filter((record) => record !== null).map(credentialView);
}

function notThere(sandboxId: string): MayflyError {
  return new MayflyError('certificate_not_found', `No certificate of ${sandboxId} has that serial or key id.`);
}
