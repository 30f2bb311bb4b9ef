import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { assertPrivate } from '../../ca/key-file.ts';
import { ReceiptSigningKey } from '../../ca/receipt-key.ts';
import { readKeys, signingKeyPath } from '../../ca/rotation.ts';
import { orAbsent } from '../../host/os/absent.ts';
import type { Config } from '../config/config.ts';
import { auditKey } from '../config/secret-file.ts';
import { payloadKeyPath } from '../payloads/data-converter.ts';
import { payloadKeys } from '../payloads/payload-keys.ts';
import { type Check, fault, type Probe, passed } from './check.ts';

/** Age at which an unfinished rotation counts as forgotten, ms; its steps take minutes. */
const ROTATION_MS = 24 * 3_600_000;

/** Checks that only this user can write the state folder: others could put a disk or a key there. */
export function stateFolderProbe(stateDir: string): Probe {
  return {
    name: 'state folder',
    remedy: `ls -ld ${stateDir}`,
    look: async () => {
      const about = await orAbsent(stat(stateDir));
      if (!about) return [];
      const mode = (about.mode & 0o7777).toString(8).padStart(4, '0');
      const uid = process.getuid?.() ?? -1;
      if (about.uid !== uid) {
        return [
          fault('state folder', `${stateDir} belongs to uid ${about.uid}, not ${uid}`, `chown ${uid} ${stateDir}`),
        ];
      }
      if ((about.mode & 0o022) !== 0) {
        return [fault('state folder', `${stateDir} has mode ${mode}: others may write it`, `chmod 0711 ${stateDir}`)];
      }
      return [passed('state folder', `${stateDir} has mode ${mode}`)];
    },
  };
}

/** Checks the keys of the control worker, on its machine. */
export function keysProbe(config: Pick<Config, 'stateDir' | 'payloadKeyFile'>): Probe {
  const { stateDir } = config;
  const control = join(stateDir, 'control');
  return {
    name: 'keys',
    remedy: `ls -l ${control}`,
    look: async () => {
      if (!(await orAbsent(lstat(control)))) return [];
      return [
        ...(await auditKeyCheck(join(control, 'audit.key'))),
        ...(await caCheck(join(control, 'ca'))),
        await payloadKeyCheck(payloadKeyPath(config)),
        ...(await receiptKeyCheck(join(control, 'receipt.key'))),
      ];
    },
  };
}

async function auditKeyCheck(path: string): Promise<Check[]> {
  if (!(await orAbsent(lstat(path)))) {
    return [
      fault(
        'audit key',
        `${path} is missing: no chain can be verified or continued`,
        `Restore it from your backup: install -m 600 BACKUP/audit.key ${path}`,
      ),
    ];
  }
  try {
    await auditKey(path); // exists, so this reads it and creates none
    return [passed('audit key', path)];
  } catch (error) {
    return [fault('audit key', messageOf(error), `chmod 600 ${path}, or restore it from your backup.`)];
  }
}

async function payloadKeyCheck(path: string): Promise<Check> {
  try {
    const [{ id }, ...others] = await payloadKeys(path);
    return passed('payload key', `${path}: ${id} encrypts, ${others.length} more decrypt`);
  } catch (error) {
    return fault(
      'payload key',
      messageOf(error),
      `Restore it from your backup: install -m 600 BACKUP/payload.key ${path}`,
    );
  }
}

/** Checks the receipts' key, which the control worker creates at its start. */
async function receiptKeyCheck(path: string): Promise<Check[]> {
  if (!(await orAbsent(lstat(path)))) return [];
  try {
    const { keyid } = await ReceiptSigningKey.read(path);
    return [passed('receipt key', `${path}: ${keyid}`)];
  } catch (error) {
    const remedy = `chmod 600 ${path}, or restore it from your backup, or \`mayfly receipt rotate\`: until then no receipt is signed.`;
    return [fault('receipt key', messageOf(error), remedy)];
  }
}

async function caCheck(folder: string): Promise<Check[]> {
  const path = signingKeyPath(folder);
  if (!(await orAbsent(lstat(path)))) {
    return [
      fault(
        'CA key',
        `${path} is missing: nobody gets into a sandbox any more`,
        `Restore it from your backup: install -m 600 BACKUP/ca/user_ca ${path}`,
      ),
    ];
  }
  try {
    await assertPrivate(path);
    const { stage } = await readKeys(folder);
    return [passed('CA key', path), ...(await rotationCheck(folder, stage))];
  } catch (error) {
    return [fault('CA key', messageOf(error), `chmod 600 ${path}, or restore it from your backup.`)];
  }
}

/** Finds a rotation unfinished for a day: until it ends, guests trust two keys. */
async function rotationCheck(folder: string, stage: Awaited<ReturnType<typeof readKeys>>['stage']): Promise<Check[]> {
  if (stage === 'none') return [];
  const [file, next] = stage === 'begun' ? ['user_ca_next.pub', '--finish'] : ['user_ca_previous.pub', '--forget'];
  const about = await orAbsent(stat(join(folder, file)));
  if (!about || Date.now() - about.mtimeMs < ROTATION_MS) return [];
  const found = `the CA key's rotation is ${stage} since ${about.mtime.toISOString()}: guests trust two keys`;
  return [fault('CA rotation', found, `mayfly ca rotate ${next}`)];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
