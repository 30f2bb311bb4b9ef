import type { Logger } from 'pino';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Store } from '../../store/connect.ts';

/** Appends delayed audit events, and shows pending ones in the records of their sandboxes. */
export class PendingAudit {
  readonly #told = new Set<string>();

  constructor(
    private readonly store: Pick<Store, 'audit' | 'sandboxes'>,
    private readonly logger: Logger,
  ) {}

  async look(): Promise<void> {
    for (const id of await this.store.audit.appendWaiting()) {
      this.logger.info({ id }, 'the audit trail goes on: all that waited was appended');
      this.#told.delete(id);
      await this.#writeFault(id, null);
    }
    for (const fault of await this.store.audit.faults()) await this.#showFault(fault);
  }

  async #showFault({ sandboxId: id, why, waiting, since }: AuditFault): Promise<void> {
    if (!this.#told.has(id)) this.logger.error({ id, why, waiting, since }, 'events wait for the audit trail');
    this.#told.add(id);
    await this.#writeFault(id, why);
  }

  async #writeFault(id: string, auditFault: string | null): Promise<void> {
    const record = isSandboxId(id) ? await this.store.sandboxes.get(id) : null;
    if (record && (record.auditFault ?? null) !== auditFault) await this.store.sandboxes.update(id, { auditFault });
  }
}
