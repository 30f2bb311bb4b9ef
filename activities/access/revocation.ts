import { Context } from '@temporalio/activity';
import type { UserCa } from '../../ca/user-ca.ts';
import type { CertificateRecord } from '../../model/sandbox/certificate.ts';
import type { Revocation } from '../../model/sandbox/certificate-saga.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { getHost, isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';

interface RevokeInput {
  sandboxId: string;
  serials: Revocation['serials'] | 'every';
  actor: Actor | null;
  /** Time of the request, equal on every attempt, ISO 8601. */
  at: string;
  eventId: string;
}

export interface GuestTrust {
  hostId: string;
  installationId: string;
  userCaKeys: string[];
  /** OpenSSH key revocation list, base64. */
  revokedKeys: string;
  /** Serials, decimal, whose sessions the guest must end, since it has not confirmed that; at most {@link MAX_SERIALS}. */
  revokedSerials: string[];
  /** True when more serials remain for another round. */
  hasMore: boolean;
  /** True when the key that signed the platform's own certificate is being retired. */
  isOwnSignedByOther: boolean;
}

/** Clock skew allowed for a guest, which may still admit expired certificates. Milliseconds. */
const GUEST_CLOCK_MS = 24 * 3_600_000;

/** Serials in one request to the guest. */
const MAX_SERIALS = 5_000;

export function createRevocationActivities({ ca, store }: { ca: UserCa; store: Store }) {
  return {
    /**
     * Revokes certificates, with one audit event however often it is retried. `all`: those of callers; `every`: also
     * the platform's own, at a sandbox's end. Expired ones are revoked too, since their sessions may be open; the event
     * at a sandbox's end omits them.
     */
    async revokeCertificates({ sandboxId, serials, actor, at, eventId }: RevokeInput): Promise<void> {
      const selected = (await store.certificates.of(sandboxId)).filter(
        (record) => isSelected(record, serials) && (record.revokedAt === null || record.revokedAt === at),
      );
      const past = new Date(Date.parse(at) - GUEST_CLOCK_MS).toISOString();
      const audited = serials === 'every' ? selected.filter(({ validBefore }) => validBefore > past) : selected;
      await store.certificates.revoke(
        selected.filter(({ revokedAt }) => revokedAt === null).map(({ serial }) => serial),
        at,
        actor,
      );
      if (audited.length === 0) return;
      await store.audit.record(sandboxId, {
        eventId,
        kind: 'certificate.revoked',
        actor,
        runId: Context.current().info.workflowExecution?.runId ?? null,
        hostId: null,
        at,
        detail: { certificates: audited.map(({ serial, keyId }) => ({ serial, keyId })) },
      });
    },

    /** Returns the trust of the sandbox's guest; null when the guest no longer exists. */
    async trustOf({ sandboxId }: { sandboxId: string }): Promise<GuestTrust | null> {
      const record = await store.sandboxes.get(sandboxId);
      const host = record && getHost(record);
      if (!host || isFinal(record.state) || record.state === 'destroying') return null;
      const certificates = await store.certificates.of(sandboxId);
      const past = new Date(Date.now() - GUEST_CLOCK_MS).toISOString();
      const revoked = certificates.filter(({ revokedAt }) => revokedAt !== null);
      const open = revoked.filter(({ refusedAt }) => refusedAt === null);
      const own = certificates.find(({ purpose }) => purpose === 'host'); // the newest
      return {
        ...host,
        ...(await ca.trust(revoked.filter(({ validBefore }) => validBefore > past))),
        revokedSerials: open.slice(0, MAX_SERIALS).map(({ serial }) => serial),
        hasMore: open.length > MAX_SERIALS,
        isOwnSignedByOther: own !== undefined && own.signedBy !== (await ca.signingKey()),
      };
    },

    async rememberRefused({ serials, at }: { serials: string[]; at: string }): Promise<void> {
      await store.certificates.refused(serials, at);
    },
  };
}

function isSelected({ serial, purpose }: CertificateRecord, serials: RevokeInput['serials']): boolean {
  if (serials === 'every') return true;
  return purpose === 'caller' && (serials === 'all' || serials.includes(serial));
}
