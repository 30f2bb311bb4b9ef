import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ReceiptSigningKey } from '../../ca/receipt-key.ts';
import { AUDIT_EXPORT_TYPE, type AuditExportSeal } from '../../model/sandbox/audit-export.ts';
import type { Config } from '../config/config.ts';
import { withStore } from '../servers/local-store.ts';
import { cliAuditAccess } from './audit-access.ts';

/** Everything but printable ASCII is escaped: a line is the same bytes in every encoding, and safe on a terminal. */
const OTHERS = /[^\x20-\x7e]/g;

/**
 * Writes the audit trail as JSON lines that another tool can verify (docs/receipts-audit.md). The last line has a keyed
 * hash of all lines before it, and a signature by the receipts' key, verifiable without a secret. Needs the audit key
 * of the control worker.
 * @param subjects sandboxes and sources; null: all
 * @param write resolves when there is room for more
 */
export async function exportAudit(
  config: Config,
  subjects: string[] | null,
  write: (line: string) => Promise<void>,
): Promise<void> {
  const key = await ReceiptSigningKey.open(keyPath(config));
  await withStore(config, await cliAuditAccess(config), async ({ audit, receiptKeys }) => {
    await receiptKeys.add(key);
    const digest = createHash('sha256');
    let lines = 0;
    for await (const one of audit.exported(subjects)) {
      const line = `${asciiJson(one)}\n`;
      digest.update(line);
      lines++;
      await write(line);
    }
    const sha256 = digest.digest('hex');
    const envelope = key.signPayload(AUDIT_EXPORT_TYPE, { lines, sha256 } satisfies AuditExportSeal);
    await write(`${asciiJson({ kind: 'end', lines, sha256, mac: audit.sealed(sha256), envelope })}\n`);
  });
}

/**
 * Returns the public key, in PEM, with which this machine's control worker signs exports. @throws Error when there is
 * none
 */
export async function exportPublicKey(config: Pick<Config, 'stateDir'>): Promise<string> {
  return (await ReceiptSigningKey.read(keyPath(config))).publicKey;
}

function keyPath({ stateDir }: Pick<Config, 'stateDir'>): string {
  return join(stateDir, 'control', 'receipt.key');
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(OTHERS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
