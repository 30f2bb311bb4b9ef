import type { z } from '@hono/zod-openapi';
import { parsePublicKey } from '../../ca/public-key.ts';
import { RUNS_ANYTHING } from '../../model/approvals/command-pattern.ts';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { IssuedCertificate } from '../../model/sandbox/certificate.ts';
import { generationOf, type SandboxRecord, type SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { checkPolicy } from '../../services/approvals/check-policy.ts';
import { requireSandbox } from '../../services/require.ts';
import { awakeSandbox } from '../../services/sandboxes/awake-sandbox.ts';
import type { RunningSandbox } from '../../services/sandboxes/running-sandbox.ts';
import { actorOf } from '../http/auth.ts';
import type { Responder } from '../http/route.ts';

import { waitLimit } from '../http/waiting.ts';
import { answerOnce, keep } from '../idempotency/answer-once.ts';
import type { issueCredential, issuedAnswer } from './credential-schemas.ts';

/**
 * POST …/credentials: one request, one certificate, however often it is sent with the same Idempotency-Key.
 * @throws MayflyError public_key_refused, sandbox_not_running, sandbox_ended, idempotency_key_reused
 */
export async function answerIssue(
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
        const content = generationOf(await requireSandbox(deps, record.id));
        return { facts: { runs: RUNS_ANYTHING }, request: shown, content };
      },
    });
    const wait = waitLimit(c, LIMITS.waitSeconds.default);
    const ssh = endpointOf(await awakeSandbox(deps, record.id, actorOf(c), wait));
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

/** Where a certificate for it can be used. */
function endpointOf({ id, ssh }: RunningSandbox): SshEndpoint {
  if (ssh) return ssh;
  throw new MayflyError('internal', `The sandbox ${id} runs, but its record has no address.`);
}

function view(principal: string, issued: IssuedCertificate, ssh: SshEndpoint): z.infer<typeof issuedAnswer> {
  const { serial, keyId, certificate, validAfter, validBefore } = issued;
  const { user, address, port, hostKey } = ssh;
  // Port 22 is looked up by the bare address: put_host_port() in OpenSSH's misc.c.
  const host = port === 22 ? address : `[${address}]:${port}`;
  const [type = '', blob = ''] = hostKey.split(' ');
  const knownHosts = `${host} ${type} ${blob}`;
  return { serial, keyId, certificate, validAfter, validBefore, principal, user, address, port, hostKey, knownHosts };
}
