import { Context } from '@temporalio/activity';
import type { UserCa } from '../../ca/user-ca.ts';
import type { CertificateRecord } from '../../model/sandbox/certificate.ts';
import type { Revocation } from '../../model/sandbox/certificate-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { hostOf, isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';

interface RevokeInput {
  sandboxId: string;
  serials: Revocation['serials'] | 'every';
  actor: Actor | null;
  /** When it was asked for: the same again on every attempt, ISO 8601. */
  at: string;
  eventId: string;
}

export interface GuestTrust {
  hostId: string;
  installationId: string;
  userCaKeys: string[];
  /** OpenSSH key revocation list, base64. */
  revokedKeys: string;
  /** Decimal: those of which the guest was not yet seen to have no session, which are ended; at most {@link AT_ONCE}. */
  revokedSerials: string[];
  /** There are more, for another round. */
  hasMore: boolean;
  /** The platform's own certificate is signed by a key that is on its way out. */
  isOwnSignedByOther: boolean;
}

/** A guest's clock may be behind by this much, so what has ended may still be let in. Milliseconds. */
const GUEST_CLOCK_MS = 24 * 3_600_000;

/** Serials that one request to the guest names. */
const AT_ONCE = 5_000;

export function createRevocationActivities({ ca, store }: { ca: UserCa; store: Store }) {
  return {
    /**
     * Marks certificates as revoked and remembers it once, however often it is tried. `all`: those that callers have;
     * `every`: the platform's own too, at the end of a sandbox. One that is past opens nothing more, but what it has opened
     * may still be open. Where all end with the sandbox, those that are past are not spoken of.
     */
    async revokeCertificates({ sandboxId, serials, actor, at, eventId }: RevokeInput): Promise<void> {
      const meant = (await store.certificates.of(sandboxId)).filter(
        (record) => isMeant(record, serials) && (record.revokedAt === null || record.revokedAt === at),
      );
      const past = new Date(Date.parse(at) - GUEST_CLOCK_MS).toISOString();
      const told = serials === 'every' ? meant.filter(({ validBefore }) => validBefore > past) : meant;
      await store.certificates.revoke(
        meant.filter(({ revokedAt }) => revokedAt === null).map(({ serial }) => serial),
        at,
        actor,
      );
      if (told.length === 0) return;
      await store.audit.record(sandboxId, {
        eventId,
        kind: 'certificate.revoked',
        actor,
        runId: Context.current().info.workflowExecution?.runId ?? null,
        hostId: null,
        at,
        detail: { certificates: told.map(({ serial, keyId }) => ({ serial, keyId })) },
      });
    },

    /** What the sandbox's guest shall trust now; null when there is no guest to tell any more. */
    async trustOf({ sandboxId }: { sandboxId: string }): Promise<GuestTrust | null> {
      const record = await store.sandboxes.get(sandboxId);
      const host = record && hostOf(record);
      if (!host || isFinal(record.state) || record.state === 'destroying') return null;
      const certificates = await store.certificates.of(sandboxId);
      const past = new Date(Date.now() - GUEST_CLOCK_MS).toISOString();
      const revoked = certificates.filter(({ revokedAt }) => revokedAt !== null);
      const open = revoked.filter(({ refusedAt }) => refusedAt === null);
      const own = certificates.find(({ purpose }) => purpose === 'host'); // the newest
      return {
        ...host,
        ...(await ca.trust(revoked.filter(({ validBefore }) => validBefore > past))),
        revokedSerials: open.slice(0, AT_ONCE).map(({ serial }) => serial),
        hasMore: open.length > AT_ONCE,
        isOwnSignedByOther: own !== undefined && own.signedBy !== (await ca.signingKey()),
      };
    },

    async rememberRefused({ serials, at }: { serials: string[]; at: string }): Promise<void> {
      await store.certificates.refused(serials, at);
    },
  };
}

function isMeant({ serial, purpose }: CertificateRecord, serials: RevokeInput['serials']): boolean {
  if (serials === 'every') return true;
  return purpose === 'caller' && (serials === 'all' || serials.includes(serial));
}
