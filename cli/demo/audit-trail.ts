import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { briefDetail } from '../audit/audit-detail.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** Characters of a hash: enough to see that they differ. */
const SHOWN = 8;

/** What the audit says of the sandbox, an entry a line; it is chained, `mayfly audit verify` checks it. */
export async function printAudit(io: Io, client: MayflyClient, sandboxId: string): Promise<void> {
  const { items } = await client.sandboxAudit(sandboxId, { limit: 200, signal: io.signal });
  for (const { seq, body, hash } of items) {
    const event = JSON.parse(body) as AuditEvent;
    const line = `${String(seq).padStart(3)}  ${event.at.slice(11, 23)}  ${event.kind.padEnd(20)} ${briefDetail(event)}`;
    io.print(`  ${printable(line).slice(0, 96).padEnd(97)} ${io.paint('dim', hash.slice(0, SHOWN))}`);
  }
}
