import type { UserCa } from '../ca/user-ca.ts';
import type { Actor } from '../model/sandbox.ts';
import type { Store } from '../store/connect.ts';

export interface SignInput {
  sandboxId: string;
  source: string;
  actor: Actor;
  /** One OpenSSH public key line. */
  publicKey: string;
}

export interface SignedCertificate {
  /** One OpenSSH certificate line. */
  certificate: string;
  serial: number;
  keyId: string;
  /** ISO 8601. */
  validBefore: string;
}

/** The user CA. Its private key is only where the control worker is. */
export function createCertificateActivities({ ca, store }: { ca: UserCa; store: Store }) {
  return {
    /** The keys a new sandbox shall trust. */
    async userCaKeys(): Promise<{ keys: string[] }> {
      return { keys: ca.publicKeys() };
    },

    /** A certificate that opens this sandbox and no other; its serial comes from the store and is never used again. */
    async signCertificate({ sandboxId, source, actor, publicKey }: SignInput): Promise<SignedCertificate> {
      const serial = await store.serials.next();
      return ca.sign({ sandboxId, publicKey, serial, source, agentId: actor.agentId });
    },
  };
}

export type CertificateActivities = ReturnType<typeof createCertificateActivities>;
