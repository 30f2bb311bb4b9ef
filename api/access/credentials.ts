import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { CertificateRecord } from '../../model/sandbox/certificate.ts';
import type { Revocation } from '../../model/sandbox/certificate-saga.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { requireSandbox } from '../../services/require.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { ASKED_FOR, RUNNING, SAGA } from '../http/problem-answers.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, preferHeaders } from '../http/schemas.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import {
  credentialAnswer,
  credentialList,
  credentialParams,
  issueCredential,
  issuedAnswer,
} from './credential-schemas.ts';
import { answerIssue } from './issue-credential.ts';

const route = routeOf('credentials');

const ALL = '/v1/sandboxes/{id}/credentials';
const ONE = `${ALL}/{credential}`;

export const credentialRoutes: Route[] = [
  route('createCredential', 'post', ALL, {
    scope: 'sandboxes:write',
    summary: 'Sign your own public key for one sandbox',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: issueCredential },
    out: {
      201: json('A certificate, and where it opens', issuedAnswer),
      202: json('It waits for approval; Location says where to look', approvalAnswer),
    },
    problems: [ASKED_FOR, RUNNING, SAGA, 'public_key_refused', 'source_not_prepared'],
    handle: async (call) => answerIssue(call, await requireSandbox(call.deps, call.params.id), call.body),
  }),
  route('listCredentials', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the certificates of a sandbox, newest first',
    in: { params: sandboxParams },
    out: { 200: json('All of them, without the certificates themselves', credentialList) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, params }) => {
      const { id } = await requireSandbox(deps, params.id);
      const all = await store.certificates.of(id);
      return { items: all, nextCursor: null };
    },
  }),
  route('deleteCredential', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Revoke one certificate, and end the sessions it has opened',
    in: { params: credentialParams, headers: preferHeaders },
    out: {
      200: json('The guest refuses it; none of its sessions is left', credentialAnswer),
      202: json('Asked for; the guest is not seen to refuse it yet', credentialAnswer),
    },
    problems: [SAGA, 'sandbox_not_found', 'certificate_not_found', 'sandbox_ended'],
    handle: async ({ c, deps, params: { id, credential } }) => {
      const sandbox = await requireSandbox(deps, id);
      const { serial } = await revocable(deps, id, credential);
      await revoke(c, deps, sandbox, [serial]);
      const [certificate] = await read(deps, [serial]);
      if (!certificate) throw notThere(id);
      return reply(certificate.refusedAt === null ? 202 : 200, certificate);
    },
  }),
  route('deleteCredentials', 'delete', ALL, {
    scope: 'sandboxes:write',
    summary: 'Revoke every certificate that callers have, and end their sessions; the platform keeps its own',
    in: { params: sandboxParams, headers: preferHeaders },
    out: {
      200: json('The guest refuses all of them', credentialList),
      202: json('Asked for; the guest is not seen to refuse all of them yet', credentialList),
    },
    problems: [SAGA, 'sandbox_not_found', 'sandbox_ended'],
    handle: async ({ c, deps, store, params }) => {
      const sandbox = await requireSandbox(deps, params.id);
      const meant = (await store.certificates.of(sandbox.id)).filter(({ purpose }) => purpose === 'caller');
      if (meant.length > 0) await revoke(c, deps, sandbox, 'all');
      const items = await read(
        deps,
        meant.map(({ serial }) => serial),
      );
      const held = items.every(({ refusedAt }) => refusedAt !== null);
      return reply(held ? 200 : 202, { items, nextCursor: null });
    },
  }),
];

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
): Promise<void> {
  if (isFinal(sandbox.state) || sandbox.state === 'destroying') {
    throw new MayflyError(
      'sandbox_ended',
      `The sandbox ${sandbox.id} is ${sandbox.state}; its certificates have ended with it.`,
    );
  }
  const actor = actorOf(c);
  await deps.sagas.certificates.changeTrust(sandbox.id, { serials, actor });
  await waitAsPreferred(c, (signal) => deps.sagas.certificates.trusted(sandbox.id, signal));
}

async function read({ store }: RequestDeps, serials: string[]): Promise<z.infer<typeof credentialAnswer>[]> {
  const found = await Promise.all(serials.map((serial) => store.certificates.get(serial)));
  return found.filter((record) => record !== null);
}

function notThere(sandboxId: string): MayflyError {
  return new MayflyError('certificate_not_found', `No certificate of ${sandboxId} has that serial or key id.`);
}
