import { createHash, createHmac, generateKeyPairSync, hkdfSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReceiptSigningKey } from '../../../ca/receipt-key.ts';
import { verifyExport } from '../../../cli/audit/export-file.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { exportAudit } from '../../../worker/audit/export-audit.ts';
import { Closers } from '../../../worker/config/closers.ts';
import type { Config } from '../../../worker/config/config.ts';
import { sandboxId } from '../../store/support.ts';
import { auditedStore } from '../../worker/audited-store.ts';

const SUBJECTS = [sandboxId(1), sandboxId(2), 'src-0000000000000003'];
const ZERO = '0'.repeat(64);
const closers = new Closers();
let config: Config;
let key: Uint8Array;
let lines: string[];

beforeAll(async () => {
  const audited = await auditedStore(closers);
  ({ config, key } = audited);
  const { audit } = audited.store;
  for (const id of SUBJECTS) for (let n = 0; n < 3; n++) await audit.append(id, event(n));
  await audit.noteHeads();
  lines = await exported();
});
afterAll(() => closers.close());

function event(n: number): AuditEvent {
  const at = `2026-01-01T00:00:0${n}.000Z`;
  const kind = n === 0 ? 'sandbox.requested' : 'sandbox.step';
  return { eventId: `e${n}`, kind, actor: null, runId: null, hostId: null, at, detail: { said: 'ä\n"\u2028' } };
}

async function exported(subjects: string[] | null = null): Promise<string[]> {
  const out: string[] = [];
  await exportAudit(config, subjects, async (line) => void out.push(line));
  return out.join('').split('\n').slice(0, -1);
}

interface Line {
  kind: string;
  number: number;
  subject: string;
  seq: number;
  previousHash: string;
  hash: string;
  body: string;
  head: { count: number; hash: string; mac: string };
  sha256: string;
  mac: string;
}

/** Verifies an export with docs/receipts-audit.md and the key only, without Mayfly's code. Returns the problems. */
function wrongWith(text: readonly string[]): string[] {
  const hmac = (by: Uint8Array, what: string) => createHmac('sha256', by).update(what).digest('hex');
  const registerKey = new Uint8Array(hkdfSync('sha256', key, '', 'mayfly audit register', 32));
  const wrong: string[] = [];
  const tips = new Map<string, { count: number; hash: string }>();
  const births = new Map<string, string>();
  let register = { count: 0, hash: ZERO };
  for (const line of text.slice(0, -1).map((one) => JSON.parse(one) as Line)) {
    if (line.kind === 'register') {
      const { number, previousHash, hash, body } = line;
      const isNext = number === register.count && previousHash === register.hash;
      if (!isNext || hash !== hmac(registerKey, `register\n${number}\n${previousHash}\n${body}`))
        wrong.push('register');
      register = { count: number + 1, hash };
      for (const fact of (JSON.parse(body) as { facts: { kind: string; subject: string; first: string }[] }).facts)
        if (fact.kind === 'birth') births.set(fact.subject, fact.first);
    }
    if (line.kind === 'entry') {
      const { subject, seq, previousHash, hash, body } = line;
      const tip = tips.get(subject) ?? { count: 0, hash: ZERO };
      const isNext = seq === tip.count && previousHash === tip.hash;
      if (!isNext || hash !== hmac(key, `entry\n${subject}\n${seq}\n${previousHash}\n${body}`)) wrong.push(subject);
      if (seq === 0 && births.get(subject) !== hash) wrong.push(`birth of ${subject}`);
      tips.set(subject, { count: seq + 1, hash });
    }
  }
  for (const line of text.slice(0, -1).map((one) => JSON.parse(one) as Line)) {
    if (line.kind !== 'chain') continue;
    const { count, hash, mac } = line.head;
    const tip = tips.get(line.subject);
    const isTip = tip?.count === count && tip.hash === hash;
    if (!isTip || mac !== hmac(key, `head\n${line.subject}\n${count}\n${hash}`)) wrong.push(`head of ${line.subject}`);
  }
  const end = JSON.parse(text.at(-1) ?? '{}') as Partial<Line>;
  const sha256 = createHash('sha256')
    .update(
      text
        .slice(0, -1)
        .map((one) => `${one}\n`)
        .join(''),
    )
    .digest('hex');
  if (end.kind !== 'end' || end.sha256 !== sha256 || end.mac !== hmac(registerKey, `export\n${sha256}`))
    wrong.push('end');
  return wrong;
}

const without = (index: number) => lines.filter((_, n) => n !== index);
const at = (kind: string, nth = 0) =>
  lines.flatMap((line, n) => ((JSON.parse(line) as Line).kind === kind ? [n] : []))[nth] ?? -1;

// 1 s. Holds: an export can be verified with the key alone, and every change to it is detected.
describe('mayfly audit export', () => {
  it('is complete for another tool, for all subjects and for one', async () => {
    expect(wrongWith(lines)).toEqual([]);
    expect(lines.filter((line) => (JSON.parse(line) as Line).kind === 'entry')).toHaveLength(9);
    expect(lines.join('')).toMatch(/^[\x20-\x7e]*$/);
    const one = await exported([sandboxId(2)]);
    expect(wrongWith(one)).toEqual([]);
    expect(one.filter((line) => (JSON.parse(line) as Line).kind === 'chain')).toHaveLength(1);
  });

  it('is verified by its public key alone', async () => {
    const { publicKey, keyid } = await ReceiptSigningKey.read(join(config.stateDir, 'control', 'receipt.key'));
    const verified = async (text: readonly string[]) => {
      const file = join(config.stateDir, 'export.jsonl');
      await writeFile(file, text.map((line) => `${line}\n`).join(''));
      return verifyExport(file, [publicKey]);
    };
    expect(await verified(lines)).toEqual({ ok: true, keyid, entries: 9, chains: 3, problems: [] });
    for (const changed of [without(at('entry', 1)), lines.slice(0, -1), [...lines.slice(0, -2), lines.at(-1) ?? '']]) {
      expect(await verified(changed)).toMatchObject({ ok: false, keyid: null });
    }
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }).toString();
    expect(await verifyExport(join(config.stateDir, 'export.jsonl'), [other])).toMatchObject({
      ok: false,
      keyid: null,
    });
  });

  it.each<[what: string, change: () => string[]]>([
    ['an entry is dropped', () => without(at('entry', 1))],
    [
      'a chain is dropped with its head',
      () => lines.filter((line) => !line.includes(sandboxId(2)) || line.includes('"register"')),
    ],
    ['an entry of the register is dropped', () => without(at('register'))],
    [
      'a text is edited',
      () => lines.map((line, n) => (n === at('entry', 1) ? line.replace('sandbox.step', 'sandbox.stop') : line)),
    ],
    [
      'two entries are exchanged',
      () =>
        lines.map(
          (line, n) => lines[n === at('entry', 1) ? at('entry', 2) : n === at('entry', 2) ? at('entry', 1) : n] ?? line,
        ),
    ],
    ['its end is missing', () => lines.slice(0, -1)],
    ['the seal is of another export', () => [...without(at('entry', 2)).slice(0, -1), lines.at(-1) ?? '']],
  ])('detects that %s', (_what, change) => expect(wrongWith(change())).not.toEqual([]));
});
