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
import type { Asker, RequestSignature } from '../../model/sandbox/signed-request.ts';
import type { Store } from '../../store/connect.ts';
import { Askers, refused } from './askers.ts';

interface SignInput {
  /** Of the sandbox, or of the source that is looked at. */
  sandboxId: string;
  source: string;
  actor: Actor;
  /** One OpenSSH public key line. */
  publicKey: string;
  /** `@default` host */
  purpose?: CertificatePurpose;
  /** `@default` 1800 */
  ttlSeconds?: number;
  /** Of the process that asks: without one it is refused. */
  signature?: RequestSignature | undefined;
}

export type SignedCertificate = IssuedCertificate;

/** What a request for a certificate of a living sandbox needs to know of it, or of a source. */
interface Certifiable {
  source: string;
  createdBy: Actor;
}

/** The user CA. Its private key is only where the control worker is. */
export function createCertificateActivities({ ca, store }: { ca: UserCa; store: Store }) {
  const askers = new Askers(store);
  return {
    /** The keys a new sandbox shall trust. */
    async userCaKeys(): Promise<{ keys: string[] }> {
      return { keys: await ca.publicKeys() };
    },

    /**
     * Whether a certificate may be issued for a sandbox, or for looks at a source, now. The platform's own is only for a key that it had before:
     * no host can make itself one for the sandbox of another.
     * @throws MayflyError sandbox_not_found, sandbox_ended, source_not_prepared, public_key_refused
     */
    async certifiable({ sandboxId, publicKey, purpose }: Certificate): Promise<Certifiable> {
      const subject = isSourceId(sandboxId)
        ? await prepared(store, sandboxId, purpose)
        : await living(store, sandboxId);
      if (purpose === 'host') await refuseOtherHost(store, sandboxId, parsePublicKey(publicKey).fingerprint);
      return subject;
    },

    /**
     * A certificate that opens this sandbox and no other; its serial comes from the store and is never used again.
     * @throws MayflyError request_refused, sandbox_not_found, sandbox_ended, source_not_prepared, public_key_refused
     */
    async signCertificate({ signature, ...request }: SignInput): Promise<SignedCertificate> {
      const { sandboxId, actor, purpose = 'host' } = request;
      const by = await askers.verified('certificate', askedOf(request), signature);
      const [granted] = await Promise.all([
        signature && askers.onlyHere(signature, sandboxId),
        refuseOthers(store, by, sandboxId, purpose),
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

/** What was to be signed by who asks for it, in the workflow that this activity is of. */
function askedOf({ sandboxId, publicKey, purpose = 'host', actor, ttlSeconds }: SignInput) {
  const { workflowId = '' } = Context.current().info.workflowExecution ?? {};
  const caller = purpose === 'caller' ? actor : null;
  return { workflowId, sandboxId, publicKey, purpose, actor: caller, ttlSeconds: ttlSeconds ?? null };
}

/** @throws MayflyError request_refused */
async function refuseOthers(store: Store, by: Asker, id: string, purpose: CertificatePurpose): Promise<void> {
  if (by.process === 'api') {
    if (purpose === 'caller' && !isSourceId(id)) return;
    throw refused('certificate', id, by, `a certificate for a ${purpose} is not for it to ask for`);
  }
  const place = await (isSourceId(id) ? store.sources.get(id) : store.sandboxes.get(id));
  if (purpose === 'host' && place && isSameHost(place, by)) return;
  throw refused('certificate', id, by, `it is not on that host${place ? `, but on ${place.hostId}` : ''}`);
}

/** Each issue is an event of its own, also when the activity is repeated: the serial says which. */
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

async function living(store: Store, sandboxId: string): Promise<Certifiable> {
  const record = await store.sandboxes.get(sandboxId);
  if (!record) throw new MayflyError('sandbox_not_found', `There is no sandbox ${sandboxId}.`);
  if (!isFinal(record.state) && record.state !== 'destroying') {
    return { source: record.spec.source, createdBy: record.createdBy };
  }
  throw new MayflyError('sandbox_ended', `The sandbox ${sandboxId} is ${record.state}; nothing opens it any more.`);
}

/** Looks go through the API, which records them: nobody but the source's host gets a certificate for it. */
async function prepared(store: Store, sourceId: string, purpose: CertificatePurpose): Promise<Certifiable> {
  const record = await store.sources.get(sourceId);
  if (record?.state === 'prepared' && record.preparedBy && purpose === 'host') {
    return { source: record.name, createdBy: record.preparedBy };
  }
  throw new MayflyError('source_not_prepared', `The source ${record?.name ?? sourceId} is not prepared for looking.`);
}

async function refuseOtherHost(store: Store, sandboxId: string, fingerprint: string): Promise<void> {
  const own = (await store.certificates.of(sandboxId)).filter(({ purpose }) => purpose === 'host');
  // One that was made before certificates were recorded has none.
  if (own.length === 0 || own.some((record) => record.fingerprint === fingerprint)) return;
  throw new MayflyError(
    'public_key_refused',
    `The key ${fingerprint} is not the one that the host of ${sandboxId} has.`,
  );
}
