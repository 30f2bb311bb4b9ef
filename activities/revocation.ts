import { Context } from '@temporalio/activity';
import type { UserCa } from '../ca/user-ca.ts';
import type { CertificateRecord, Revocation } from '../model/certificate.ts';
import type { Actor } from '../model/sandbox.ts';
import { isFinal } from '../model/sandbox.ts';
import type { Store } from '../store/connect.ts';

export interface RevokeInput {
  sandboxId: string;
  serials: Revocation['serials'] | 'every';
  actor: Actor | null;
  /** When it was asked for: the same again on every attempt, ISO 8601. */
  at: string;
  eventId: string;
}

/** What one guest is to be told. */
export interface GuestTrust {
  hostId: string;
  userCaKeys: string[];
  /** OpenSSH key revocation list, base64. */
  revokedKeys: string;
  /** Decimal; their sessions are ended. */
  revokedSerials: string[];
  /** The platform's own certificate is signed by a key that is on its way out. */
  isOwnSignedByOther: boolean;
}

/** A guest's clock may be behind by this much, so what has ended may still be let in. Milliseconds. */
const GUEST_CLOCK_MS = 24 * 3_600_000;

/** What becomes of certificates after their issue. */
export function createRevocationActivities({ ca, store }: { ca: UserCa; store: Store }) {
  return {
    /**
     * Marks certificates as revoked and remembers it once, however often it is tried. `all`: those that callers have;
     * `every`: the platform's own too, at the end of a sandbox. Those that are past are not spoken of.
     */
    async revokeCertificates({ sandboxId, serials, actor, at, eventId }: RevokeInput): Promise<void> {
      const meant = (await store.certificates.of(sandboxId)).filter(
        (record) => isMeant(record, serials) && (record.revokedAt === null || record.revokedAt === at),
      );
      const past = new Date(Date.parse(at) - GUEST_CLOCK_MS).toISOString();
      const alive = meant.filter(({ validBefore }) => validBefore > past);
      const marked = serials === 'every' ? meant : alive;
      await store.certificates.revoke(
        marked.map(({ serial }) => serial),
        at,
        actor,
      );
      if (alive.length === 0) return;
      await store.audit.append(sandboxId, {
        eventId,
        kind: 'certificate.revoked',
        actor,
        runId: Context.current().info.workflowExecution?.runId ?? null,
        hostId: null,
        at,
        detail: { certificates: alive.map(({ serial, keyId }) => ({ serial, keyId })) },
      });
    },

    /** What the sandbox's guest shall trust now; null when there is no guest to tell any more. */
    async trustOf({ sandboxId }: { sandboxId: string }): Promise<GuestTrust | null> {
      const record = await store.sandboxes.get(sandboxId);
      if (!record?.hostId || isFinal(record.state) || record.state === 'destroying') return null;
      const certificates = await store.certificates.of(sandboxId);
      const past = new Date(Date.now() - GUEST_CLOCK_MS).toISOString();
      const revoked = certificates.filter(({ revokedAt, validBefore }) => revokedAt !== null && validBefore > past);
      const own = certificates.find(({ purpose }) => purpose === 'host'); // the newest
      return {
        hostId: record.hostId,
        ...(await ca.trust(revoked)),
        revokedSerials: revoked.map(({ serial }) => serial),
        isOwnSignedByOther: own !== undefined && own.signedBy !== (await ca.signingKey()),
      };
    },

    /** Remembers that a guest refuses these certificates. */
    async rememberRefused({ serials, at }: { serials: string[]; at: string }): Promise<void> {
      await store.certificates.refused(serials, at);
    },
  };
}

export type RevocationActivities = ReturnType<typeof createRevocationActivities>;

function isMeant({ serial, purpose }: CertificateRecord, serials: RevokeInput['serials']): boolean {
  if (serials === 'every') return true;
  return purpose === 'caller' && (serials === 'all' || serials.includes(serial));
}
