import { stat } from 'node:fs/promises';
import { orAbsent } from '../../host/os/absent.ts';
import { isSourceId } from '../../model/ids.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { readConfig } from '../../worker/config/config.ts';
import type { AuditVerification } from '../../worker/upkeep/audit.ts';
import { readPublicKeys } from '../receipt/receipt-file.ts';
import { findSandboxId } from '../snapshot/named.ts';
import { JSON_OPTION, option, positional, sandboxId } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { verifyExport } from './export-file.ts';

/** `mayfly audit verify`: needs the audit key of the control worker's machine; a file is verified offline. */
export const verifyCommand = customCommand({
  description: 'Find any edit, drop, insert or truncation of the audit trail, of whole chains too',
  args: {
    id: {
      type: 'positional',
      description: 'Id of a sandbox or a source, all of them when left out; or a file of `mayfly audit export`',
      required: false,
    },
    key: option('Of a file: public keys that are trusted, in PEM; that of this machine when left out', 'file'),
    ...JSON_OPTION,
  },
  async run({ io, args }) {
    const isFile = args.id !== undefined && !isSourceId(args.id) && !isSandboxId(args.id);
    if (isFile || args.key !== undefined) return verifyFile(io, args.id, args.key, args.json);
    const ids = args.id ? [subjectId(args.id)] : [];
    const { verifyAudit } = await import('../../worker/upkeep/audit.ts');
    const found = await verifyAudit(readConfig(io.env), ids);
    const isWhole = found.register.ok && [...found.chains.values()].every(({ ok }) => ok);
    if (args.json) {
      const { register, chains } = found;
      io.printJson({ ok: isWhole, register, chains: Object.fromEntries(chains) });
    } else {
      printRegister(io, found.register);
      printChains(io, found.chains);
    }
    return isWhole ? EXIT.ok : EXIT.failed;
  },
});

/** Returns the export key of this machine's control worker. @throws CliError */
async function ownKey(io: Io): Promise<string> {
  const { exportPublicKey } = await import('../../worker/audit/export-audit.ts');
  const key = await orAbsent(exportPublicKey(readConfig(io.env)));
  if (key !== null) return key;
  throw usageError(
    'no control worker has signed on this machine',
    'Name its public keys with --key: `mayfly receipt keys`.',
  );
}

/** @throws CliError */
async function verifyFile(
  io: Io,
  file: string | undefined,
  keyFile: string | undefined,
  json: boolean,
): Promise<number> {
  if (file === undefined) throw usageError('--key is for a file of `mayfly audit export`', 'Name that file, too.');
  if (!(await orAbsent(stat(file)))) throw usageError(`${file} is neither an id nor a file`);
  const keys = keyFile === undefined ? [await ownKey(io)] : await readPublicKeys(keyFile);
  const found = await verifyExport(file, keys);
  if (json) {
    io.printJson(found);
    return found.ok ? EXIT.ok : EXIT.failed;
  }
  const { keyid, entries, chains, problems } = found;
  const signature = keyid === null ? io.paint('red', 'not valid') : io.paint('green', 'valid');
  io.print(`signature ${signature}${keyid === null ? '' : `: ${keyid}`}`);
  for (const problem of problems) io.print(printable(problem));
  io.print(`${chains} chains, ${entries} entries, ${problems.length} problems`);
  return found.ok ? EXIT.ok : EXIT.failed;
}

function printRegister(io: Io, { entries, problems, notes }: AuditVerification['register']): void {
  for (const { number, kind, detail } of problems) {
    io.print(`register entry ${number ?? '-'}: ${io.paint('red', kind)} ${printable(detail)}`);
  }
  for (const note of notes) io.print(`register: ${printable(note)}`);
  io.print(`register: ${entries} entries`);
}

function printChains(io: Io, chains: AuditVerification['chains']): void {
  const broken = [...chains].filter(([, { ok }]) => !ok);
  for (const [id, { problems }] of broken) {
    for (const { seq, kind, detail } of problems) {
      io.print(`${printable(id)} entry ${seq ?? '-'}: ${io.paint('red', kind)} ${printable(detail)}`);
    }
  }
  for (const [id, { waiting }] of chains) {
    if (waiting) io.print(`${printable(id)}: ${io.paint('yellow', `${waiting} waiting`)} until it can be continued`);
  }
  const expired = [...chains.values()].reduce((sum, one) => sum + (one.expired ?? 0), 0);
  if (expired > 0)
    io.print(`${expired} entries were exported and removed, and are vouched for by the ends of their chains`);
  io.print(`${chains.size} chains, ${chains.size - broken.length} whole, ${broken.length} tampered with`);
}

/** Most informative fields of an event, by priority. */
const FIELDS = ['state', 'command', 'argv', 'path', 'keyId', 'outcome', 'serial', 'snapshotId', 'name', 'startedAt'];

/** Returns a short detail of an event, as JSON; '' when it has none. */
export function briefDetail({ detail }: Pick<AuditEvent, 'detail'>): string {
  const about = FIELDS.map((field) => detail[field]).find((value) => value !== undefined && value !== null);
  return about === undefined ? '' : JSON.stringify(about);
}

const HEADER = ['ENTRY', 'AT', 'WHAT', 'BY', 'WHICH'];

/** Entry with its parsed body; the hash covers `body` itself. */
type Shown = AuditEntry & { event: AuditEvent };

function row({ seq, event }: Shown): string[] {
  const { at, kind, actor } = event;
  return [String(seq), at, kind, actor?.agentId ?? actor?.apiKeyId ?? '-', printable(briefDetail(event)).slice(0, 100)];
}

export const auditCommand = nounCommand({
  /** Oldest first, all pages. */
  get: pagedCommand({
    description: 'Show what the audit trail says of a sandbox, oldest first',
    args: { id: positional('Id or name of a sandbox, also of one that has ended') },
    table: { header: HEADER, row },
    async read({ io, args, connect }) {
      const client = connect();
      const id = await findSandboxId(client, args.id, io.signal);
      return async (page) => {
        const { items, nextCursor } = await client.sandboxAudit(id, page);
        return { items: items.map((entry) => ({ ...entry, event: JSON.parse(entry.body) as AuditEvent })), nextCursor };
      };
    },
  }),
  verify: verifyCommand,
  /** Needs the audit key of the control worker's machine. */
  export: customCommand({
    description: 'Write the audit trail as JSON lines that another tool can verify',
    args: {
      id: {
        type: 'positional',
        description: 'Id of a sandbox or a source; all of them when left out',
        required: false,
      },
    },
    async run({ io, args }) {
      const subjects = args.id ? [subjectId(args.id)] : null;
      const { exportAudit } = await import('../../worker/audit/export-audit.ts');
      await exportAudit(readConfig(io.env), subjects, (line) => io.write('stdout', Buffer.from(line)));
    },
  }),
  /** Needs the audit key of the control worker's machine. */
  accept: customCommand({
    description: 'Have the register say that its missing entries are lost, as after a store was restored from a backup',
    args: { reason: positional('Why these entries are lost; it stays in the register') },
    async run({ io, args }) {
      const { acceptLoss } = await import('../../worker/upkeep/audit.ts');
      const gaps = await acceptLoss(readConfig(io.env), args.reason);
      io.print(gaps === 0 ? 'nothing is missing in the register' : `${gaps} gaps in the register are accepted`);
    },
  }),
});

/** Checks the id of a subject of the audit. @throws CliError */
export function subjectId(text: string): string {
  return isSourceId(text) ? text : sandboxId(text);
}
