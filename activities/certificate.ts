import { Context } from '@temporalio/activity';
import type { UserCa } from '../ca/user-ca.ts';
import type { AuditEvent } from '../model/audit.ts';
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
  /** Decimal; 64 bits do not fit a JSON number. */
  serial: string;
  keyId: string;
  /** ISO 8601. */
  validBefore: string;
}

/** Each issue is an event of its own, also when the activity is repeated: the serial says which. */
function issueOf({ actor }: SignInput, { serial, keyId, validBefore }: SignedCertificate): AuditEvent {
  return {
    eventId: `certificate/${serial}`,
    kind: 'certificate.issued',
    actor,
    runId: Context.current().info.workflowExecution?.runId ?? null,
    hostId: null,
    at: new Date().toISOString(),
    detail: { serial, keyId, validBefore },
  };
}

/** The user CA. Its private key is only where the control worker is. */
export function createCertificateActivities({ ca, store }: { ca: UserCa; store: Store }) {
  return {
    /** The keys a new sandbox shall trust. */
    async userCaKeys(): Promise<{ keys: string[] }> {
      return { keys: ca.publicKeys() };
    },

    /** A certificate that opens this sandbox and no other; its serial comes from the store and is never used again. */
    async signCertificate(request: SignInput): Promise<SignedCertificate> {
      const serial = BigInt(await store.serials.next());
      const { certificate, keyId, validBefore } = await ca.sign({ ...request, serial });
      const issued = { certificate, serial: serial.toString(), keyId, validBefore };
      await store.audit.append(request.sandboxId, issueOf(request, issued));
      return issued;
    },
  };
}

export type CertificateActivities = ReturnType<typeof createCertificateActivities>;
