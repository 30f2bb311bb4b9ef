import { Context } from '@temporalio/activity';
import { parsePublicKey } from '../../ca/public-key.ts';
import type { UserCa } from '../../ca/user-ca.ts';
import { MayflyError } from '../../model/errors.ts';
import { isSameHost } from '../../model/host.ts';
import { isSourceId } from '../../model/ids.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { CertificatePurpose, CertificateRecord, IssuedCertificate } from '../../model/sandbox/certificate.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { RequestSignature, Signer } from '../../model/sandbox/signed-request.ts';
import type { Store } from '../../store/connect.ts';
import { RequestVerifier, toRefusal } from './askers.ts';

interface SignInput {
  /** Id of the sandbox, or of the source to read. */
  sandboxId: string;
  source: string;
  actor: Actor;
  /** OpenSSH public key line. */
  publicKey: string;
  /** `@default` host */
  purpose?: CertificatePurpose;
  /** `@default` 1800 */
  ttlSeconds?: number;
  /** Signature of the requesting process; without one it is refused. */
  signature?: RequestSignature | undefined;
}

export type SignedCertificate = IssuedCertificate;

/** Facts about a living sandbox, or a source, for a certificate. */
interface Certifiable {
  source: string;
  createdBy: Actor;
}

/** Activities of the user CA. Its private key exists only on the control worker. */
export function createCertificateActivities({ ca, store }: { ca: UserCa; store: Store }) {
  const askers = new RequestVerifier(store);
  return {
    /** Returns the keys a new sandbox must trust. */
    async userCaKeys(): Promise<{ keys: string[] }> {
      return { keys: await ca.publicKeys() };
    },

    /**
     * Checks that a certificate may be issued now for a sandbox, or for reads of a source. The platform's own is
     * limited to its known key: no host can certify itself for another host's sandbox.
     * @throws MayflyError sandbox_not_found, sandbox_ended, source_not_prepared, public_key_refused
     */
    async certifiable({ sandboxId, publicKey, purpose }: Certificate): Promise<Certifiable> {
      const subject = isSourceId(sandboxId)
        ? await requirePrepared(store, sandboxId, purpose)
        : await requireLiving(store, sandboxId);
      if (purpose === 'host') await assertKnownKey(store, sandboxId, parsePublicKey(publicKey).fingerprint);
      return subject;
    },

    /**
     * Issues a certificate for this sandbox only, with a serial from the store that is never reused.
     * @throws MayflyError request_refused, sandbox_not_found, sandbox_ended, source_not_prepared, public_key_refused
     */
    async signCertificate({ signature, ...request }: SignInput): Promise<SignedCertificate> {
      const { sandboxId, actor, purpose = 'host' } = request;
      const by = await askers.verified('certificate', signedContent(request), signature);
      const [granted] = await Promise.all([
        signature && askers.onlyHere(signature, sandboxId),
        assertMayIssue(store, by, sandboxId, purpose),
      ]);
      const serial = BigInt(await store.serials.next());
      const { certificate, fingerprint, signedBy, ...signed } = await ca.sign({ ...request, serial });
      const issued = { ...signed, serial: serial.toString() };
      const unrevoked = { revokedAt: null, revokedBy: null, refusedAt: null };
      await Promise.all([
        store.certificates.add({
          ...issued,
          sandboxId,
          actor,
          purpose,
          fingerprint,
          signedBy,
          ...unrevoked,
          ...granted,
        }),
        store.audit.record(sandboxId, issueOf(request, { ...issued, purpose, fingerprint })),
      ]);
      return { ...issued, certificate };
    },
  };
}

type Certificate = Pick<SignInput, 'sandboxId' | 'publicKey'> & { purpose: CertificatePurpose };

type IssueDetail = Pick<
  CertificateRecord,
  'serial' | 'keyId' | 'purpose' | 'fingerprint' | 'validAfter' | 'validBefore'
>;

/** Returns the signed content of the request, in this activity's workflow. */
function signedContent({ sandboxId, publicKey, purpose = 'host', actor, ttlSeconds }: SignInput) {
  const { workflowId = '' } = Context.current().info.workflowExecution ?? {};
  const caller = purpose === 'caller' ? actor : null;
  return { workflowId, sandboxId, publicKey, purpose, actor: caller, ttlSeconds: ttlSeconds ?? null };
}

/** @throws MayflyError request_refused */
async function assertMayIssue(store: Store, by: Signer, id: string, purpose: CertificatePurpose): Promise<void> {
  if (by.process === 'api') {
    if (purpose === 'caller' && !isSourceId(id)) return;
    throw toRefusal('certificate', id, by, `a certificate for a ${purpose} is not for it to ask for`);
  }
  const place = await (isSourceId(id) ? store.sources.get(id) : store.sandboxes.get(id));
  if (purpose === 'host' && place && isSameHost(place, by)) return;
  throw toRefusal('certificate', id, by, `it is not on that host${place ? `, but on ${place.hostId}` : ''}`);
}

/** Returns the audit event of one issue, unique by serial: a repeated activity issues again. */
function issueOf({ actor }: SignInput, detail: IssueDetail): AuditEvent {
  return {
    eventId: `certificate/${detail.serial}`,
    kind: 'certificate.issued',
    actor,
    runId: Context.current().info.workflowExecution?.runId ?? null,
    hostId: null,
    at: new Date().toISOString(),
    detail: { ...detail },
  };
}

async function requireLiving(store: Store, sandboxId: string): Promise<Certifiable> {
  const record = await store.sandboxes.get(sandboxId);
  if (!record) throw new MayflyError('sandbox_not_found', `There is no sandbox ${sandboxId}.`);
  if (!isFinal(record.state) && record.state !== 'destroying') {
    return { source: record.spec.source, createdBy: record.createdBy };
  }
  throw new MayflyError('sandbox_ended', `The sandbox ${sandboxId} is ${record.state}; nothing opens it any more.`);
}

/** Allows only the source's host a certificate for it: reads go through the API, which records them. */
async function requirePrepared(store: Store, sourceId: string, purpose: CertificatePurpose): Promise<Certifiable> {
  const record = await store.sources.get(sourceId);
  if (record?.state === 'prepared' && record.preparedBy && purpose === 'host') {
    return { source: record.name, createdBy: record.preparedBy };
  }
  throw new MayflyError('source_not_prepared', `The source ${record?.name ?? sourceId} is not prepared for looking.`);
}

async function assertKnownKey(store: Store, sandboxId: string, fingerprint: string): Promise<void> {
  const own = (await store.certificates.of(sandboxId)).filter(({ purpose }) => purpose === 'host');
  // A sandbox from before certificates were recorded has none.
  if (own.length === 0 || own.some((record) => record.fingerprint === fingerprint)) return;
  throw new MayflyError(
    'public_key_refused',
    `The key ${fingerprint} is not the one that the host of ${sandboxId} has.`,
  );
}
