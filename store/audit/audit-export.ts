import type { AuditEntry } from '../../model/sandbox/audit.ts';
import type { AnchorTip } from '../register/anchor.ts';
import type { RegisterDocument } from '../register/facts.ts';
import type { TransparencyLog } from '../register/register.ts';
import type { AuditHead, ExpiryMark } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import { parseExpired, parseHead } from './audit-documents.ts';
import type { ChainState } from './audit-verification.ts';

/** Line of an export, see docs/receipts-audit.md. */
export type ExportLine =
  | {
      kind: 'header';
      format: 'mayfly-audit';
      version: 1;
      algorithm: string;
      anchor: AnchorTip | null;
      subjects: string[] | null;
    }
  /** `later`: written during the export, so its chains need not be in the export. */
  | ({ kind: 'register'; number: number; later: boolean } & Omit<RegisterDocument, '_id'>)
  | { kind: 'chain'; subject: string; head: AuditHead | null; expired: ExpiryMark | null }
  | { kind: 'entry'; subject: string; seq: number; previousHash: string; hash: string; body: string };

/** Entries read at a time. */
const PAGE = 100;

/** Exports everything that is needed to verify chains with the key alone, in verifiable order and constant memory. */
export class AuditExport {
  constructor(
    private readonly stored: AuditCollections,
    private readonly register: TransparencyLog,
  ) {}

  /** @param subjects subjects of the chains; null: all that have a head. The register is always whole. */
  async *lines(subjects: string[] | null): AsyncGenerator<ExportLine> {
    const anchor = await this.register.anchored();
    yield { kind: 'header', format: 'mayfly-audit', version: 1, algorithm: 'HMAC-SHA256', anchor, subjects };
    let next = 0;
    for await (const document of this.register.stored()) {
      yield registerLine(document, false);
      next = Number(document._id) + 1;
    }
    for await (const page of subjects ? this.stored.statesOf(subjects) : this.stored.states()) {
      for (const state of page) yield* this.#chain(state.id, state);
    }
    for await (const document of this.register.stored(next)) yield registerLine(document, true);
  }

  async *#chain(subject: string, { head, expired }: ChainState): AsyncGenerator<ExportLine> {
    const known = head === null ? null : parseHead(head);
    yield { kind: 'chain', subject, head: known, expired: expired === undefined ? null : parseExpired(expired) };
    for (let from = 0; ; from += PAGE) {
      const entries = await this.stored.entries(subject, from, PAGE);
      for (const entry of entries) yield entryLine(entry);
      if (entries.length < PAGE && from + PAGE >= (known?.count ?? 0)) return;
    }
  }
}

function registerLine({ _id, ...entry }: RegisterDocument, later: boolean): ExportLine {
  return { kind: 'register', number: Number(_id), later, ...entry };
}

function entryLine({ sandboxId, ...entry }: AuditEntry): ExportLine {
  return { kind: 'entry', subject: sandboxId, ...entry };
}
