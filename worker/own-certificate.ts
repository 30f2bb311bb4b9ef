import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { signKey } from '../api/temporal-certificates.ts';
import type { Credentials } from '../host/credentials.ts';
import { MayflyError } from '../model/errors.ts';

/**
 * Has the control worker sign this host's own key to a sandbox again.
 * @returns what gives one OpenSSH certificate line
 */
export function ownCertificates({ client, credentials }: { client: Client; credentials: Credentials }) {
  return async (sandboxId: string): Promise<string> => {
    const publicKey = await credentials.publicKey(sandboxId);
    if (publicKey === null) {
      throw new MayflyError('sandbox_ended', `This host has no key to ${sandboxId} any more: it is being ended.`);
    }
    const input = { sandboxId, publicKey, purpose: 'host', actor: null, ttlSeconds: null } as const;
    return (await signKey(client, randomUUID(), input)).certificate;
  };
}
