import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { parsePublicKey } from '../../ca/public-key.ts';
import { ANY_COMMAND } from '../../model/approvals/command-pattern.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CertificateRecord, IssuedCertificate } from '../../model/sandbox/certificate.ts';
import type { Revocation } from '../../model/sandbox/certificate-saga.ts';
import { getDiskGeneration, type SandboxRecord, type SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { checkPolicy } from '../../services/approvals/check-policy.ts';
import { ensureRunning, type RunningSandbox } from '../../services/sandboxes/awake-sandbox.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, type Env, type RequestDeps, waitAsPreferred, waitLimit } from '../http/context.ts';
import { type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, POLICY_CODES, preferHeaders, RUNNING, SAGA } from '../http/schemas.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import {
  credentialAnswer,
  credentialList,
  credentialParams,
  issueCredential,
  issuedAnswer,
} from './credential-schemas.ts';

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
    problems: [POLICY_CODES, RUNNING, SAGA, 'public_key_refused', 'source_not_prepared'],
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

/** Returns a certificate that callers may revoke, by serial or key id. @throws MayflyError certificate_not_found */
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

/** Revokes certificates. @throws MayflyError sandbox_ended, since its certificates have ended too */
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

/**
 * Answers POST …/credentials: one certificate per Idempotency-Key.
 * @throws MayflyError public_key_refused, sandbox_not_running, sandbox_ended, idempotency_key_reused
 */
async function answerIssue(
  responder: Responder<z.infer<typeof issuedAnswer>>,
  record: SandboxRecord,
  request: z.output<typeof issueCredential>,
): Promise<Response> {
  const { c, deps } = responder;
  const { sagas } = deps;
  const { line } = parsePublicKey(request.publicKey);
  const idFrom = (random: Uint8Array) => Buffer.from(random).toString('hex');
  return answerOnce(responder, { idFrom }, async (attempt) => {
    const { subjectId } = attempt;
    await checkPolicy(deps, attempt, record.project, {
      action: 'credential.issue',
      agentId: record.spec.agentId,
      resolve: async () => {
        const shown = { sandboxId: record.id, publicKey: line, ttlSeconds: request.ttlSeconds ?? null };
        const content = getDiskGeneration(await requireSandbox(deps, record.id));
        return { facts: { runs: ANY_COMMAND }, request: shown, content };
      },
    });
    const wait = waitLimit(c, LIMITS.waitSeconds.default);
    const ssh = endpointOf(await ensureRunning(deps, record.id, actorOf(c), wait));
    const issued = await sagas.certificates.issue(subjectId, {
      sandboxId: record.id,
      publicKey: line,
      purpose: 'caller',
      actor: actorOf(c, record.spec.agentId),
      ttlSeconds: request.ttlSeconds ?? null,
    });
    return keep(view(record.id, issued, ssh));
  });
}

/** Returns the SSH endpoint of a running sandbox. */
function endpointOf({ id, ssh }: RunningSandbox): SshEndpoint {
  if (ssh) return ssh;
  throw new MayflyError('internal', `The sandbox ${id} runs, but its record has no address.`);
}

function view(principal: string, issued: IssuedCertificate, ssh: SshEndpoint): z.infer<typeof issuedAnswer> {
  const { serial, keyId, certificate, validAfter, validBefore } = issued;
  const { user, address, port, hostKey } = ssh;
  // OpenSSH looks port 22 up by the bare address: put_host_port() in its misc.c.
  const host = port === 22 ? address : `[${address}]:${port}`;
  const [type = '', blob = ''] = hostKey.split(' ');
  const knownHosts = `${host} ${type} ${blob}`;
  return { serial, keyId, certificate, validAfter, validBefore, principal, user, address, port, hostKey, knownHosts };
}
