import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { ReceiptError, verifyEnvelope } from '../../clients/typescript/receipts/verify-receipt.ts';
import { AUDIT_EXPORT_TYPE, type AuditExportSeal } from '../../model/sandbox/audit-export.ts';

/** Result of verifying a file of `mayfly audit export`. */
interface VerifiedExport {
  ok: boolean;
  /** Id of the signing key; null: the signature is invalid. */
  keyid: string | null;
  entries: number;
  chains: number;
  problems: string[];
}

const Link = z.object({ previousHash: z.string(), hash: z.string() });
const Head = z.object({ count: z.number(), hash: z.string() });
const Line = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('header'), format: z.literal('mayfly-audit'), version: z.literal(1) }),
  Link.extend({ kind: z.literal('register'), number: z.number() }),
  z.object({ kind: z.literal('chain'), subject: z.string(), head: Head.nullable(), expired: Head.nullable() }),
  Link.extend({ kind: z.literal('entry'), subject: z.string(), seq: z.number() }),
]);
type Line = z.infer<typeof Line>;
const End = z.object({ kind: z.literal('end'), lines: z.number(), sha256: z.string(), envelope: z.unknown() });
type Head = z.infer<typeof Head>;

/** Head before the first entry of each chain. */
const START: Head = { count: 0, hash: '0'.repeat(64) };

/** Verifies a file of `mayfly audit export` offline, by public keys. @param publicKeys PEM */
export async function verifyExport(path: string, publicKeys: readonly string[]): Promise<VerifiedExport> {
  const digest = createHash('sha256');
  const links = new Links();
  let last: string | null = null;
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    if (last !== null) {
      digest.update(`${last}\n`);
      lines += 1;
      links.add(last, lines);
    }
    last = line;
  }
  const signed = verifySeal(last, { lines, sha256: digest.digest('hex') }, publicKeys);
  const problems = [...('why' in signed ? [signed.why] : []), ...links.end()];
  const keyid = 'why' in signed ? null : signed.keyid;
  return { ok: problems.length === 0, keyid, entries: links.entries, chains: links.chains, problems };
}

function verifySeal(
  last: string | null,
  found: AuditExportSeal,
  publicKeys: readonly string[],
): { keyid: string } | { why: string } {
  const end = End.safeParse(jsonOf(last ?? ''));
  if (!end.success) return { why: 'its end is missing: it was cut, or is no audit export' };
  try {
    const { payloadType, bytes, keyid } = verifyEnvelope(end.data.envelope, publicKeys);
    if (payloadType !== AUDIT_EXPORT_TYPE) return { why: `it is signed, and is no audit export: ${payloadType}` };
    const signed = jsonOf(Buffer.from(bytes).toString()) as Partial<AuditExportSeal> | null;
    const isSame = signed?.sha256 === found.sha256 && signed.lines === found.lines;
    return isSame ? { keyid } : { why: 'its lines are not those that were signed' };
  } catch (error) {
    if (error instanceof ReceiptError) return { why: error.message };
    throw error;
  }
}

/**
 * Checks the links of chains and of the transparency log. Their hashes are keyed, so the signature covers the content.
 */
class Links {
  entries = 0;
  chains = 0;
  #register = START;
  #chain: { subject: string; head: Head | null; tip: Head } | null = null;
  readonly #problems: string[] = [];

  add(text: string, number: number): void {
    const parsed = Line.safeParse(jsonOf(text));
    if (!parsed.success) this.#problems.push(`line ${number} is not of an audit export`);
    else this.#follow(parsed.data);
  }

  end(): string[] {
    this.#closeChain();
    return this.#problems;
  }

  #follow(line: Line): void {
    if (line.kind === 'register') {
      this.#register = this.#next('the register', this.#register, { ...line, seq: line.number });
    } else if (line.kind === 'chain') {
      this.#closeChain();
      this.chains += 1;
      this.#chain = { subject: line.subject, head: line.head, tip: line.expired ?? START };
    } else if (line.kind === 'entry') {
      this.entries += 1;
      if (this.#chain?.subject !== line.subject) this.#problems.push(`${line.subject} has entries outside its chain`);
      else this.#chain.tip = this.#next(line.subject, this.#chain.tip, line);
    }
  }

  #next(
    what: string,
    tip: Head,
    { seq, previousHash, hash }: { seq: number; previousHash: string; hash: string },
  ): Head {
    if (seq !== tip.count || previousHash !== tip.hash) this.#problems.push(`${what} is broken before entry ${seq}`);
    return { count: seq + 1, hash };
  }

  #closeChain(): void {
    if (!this.#chain) return;
    const { subject, head, tip } = this.#chain;
    this.#chain = null;
    if (head === null) this.#problems.push(`${subject} has no head`);
    else if (head.count > tip.count) this.#problems.push(`${subject} ends before entry ${head.count - 1}, its last`);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
