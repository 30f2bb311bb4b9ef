import { z } from 'zod';
import type { Agent } from '../../host/exec/agent-commands.ts';
import type { Credentials } from '../../host/ssh/credentials.ts';
import type { StepContext } from '../../host/step-context.ts';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import type { KeyToCertify, RequestSigner } from '../../model/sandbox/signed-request.ts';
import { withHeartbeats } from '../step/step-context.ts';
import { signOwnKey } from './own-key.ts';
import type { GuestTrust } from './revocation.ts';

export interface TrustDeps {
  guests: { agent(sandboxId: string, context: StepContext): Promise<Agent> };
  credentials: Credentials;
  signer: RequestSigner;
}

type PushTrustInput = Pick<GuestTrust, 'userCaKeys' | 'revokedKeys' | 'revokedSerials'> & { sandboxId: string };

/** Limit of a guest's answer, which is untrusted. Bytes. */
const MAX_REFUSAL_BYTES = 16_384;
const refusal = z.object({ code: z.string(), message: z.string().max(2_000) });

/**
 * Activities for a guest's sshd trust and the platform's own certificate. Not steps of the sandbox: they skip its
 * queue.
 */
export function createTrustActivities({ guests, credentials, signer }: TrustDeps) {
  return {
    /**
     * Pushes CAs and revoked certificates to the guest, then ends the sessions opened with those.
     * @throws MayflyError why the guest can't be reached or refuses for now
     */
    async pushTrust({ sandboxId, userCaKeys, revokedKeys, revokedSerials }: PushTrustInput): Promise<void> {
      await withHeartbeats('asking the guest', async (context) => {
        const { signal } = context;
        const agent = await guests.agent(sandboxId, context);
        await send(agent, 'PUT', '/v1/trust', { userCaKeys, revokedKeys }, signal);
        if (revokedSerials.length > 0) {
          await send(agent, 'POST', '/v1/sessions/end', { serials: revokedSerials }, signal);
        }
      });
    },

    /** Returns the public half of the host's own key; null when it was removed. */
    async ownPublicKey({ sandboxId }: { sandboxId: string }): Promise<OwnKey> {
      const publicKey = await credentials.publicKey(sandboxId);
      return { publicKey, ...(publicKey !== null && { signature: signOwnKey(signer, sandboxId, publicKey) }) };
    },

    async storeOwnCertificate({ sandboxId, certificate }: { sandboxId: string; certificate: string }): Promise<void> {
      await credentials.storeCertificate(sandboxId, certificate);
    },
  };
}

interface OwnKey extends Pick<KeyToCertify, 'signature'> {
  publicKey: string | null;
}

async function send(
  agent: Agent,
  method: 'PUT' | 'POST',
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await agent.request({ method, path, headers, body: Buffer.from(JSON.stringify(body)), signal });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_REFUSAL_BYTES) throw new MayflyError('guest_failed', `The guest answers ${path} without an end.`);
    chunks.push(chunk);
  }
  if (answer.status !== 204) throw toRefusal(path, answer.status, Buffer.concat(chunks).toString());
}

function toRefusal(path: string, status: number, text: string): MayflyError {
  const { data } = refusal.safeParse(jsonOrNull(text));
  const why = data?.message.replace(/[\p{Cc}\p{Cs}]/gu, '\u{fffd}') ?? 'it does not say why';
  const code = data && isErrorCode(data.code) && data.code !== 'internal' ? data.code : 'guest_failed';
  return new MayflyError(code, `The guest answered ${status} to ${path}: ${why}`);
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
