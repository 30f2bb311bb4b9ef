import { chmod, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { orAbsent } from '../../os/absent.ts';
import { ExecError } from '../../os/exec.ts';
import { nullIfMissing } from '../client/virsh.ts';
import { parseDomain } from '../domain-xml/clone-xml.ts';
import type { Source } from '../layers/sources.ts';
import { workspaceIds } from '../layers/workspace.ts';
import type { LibvirtTools } from '../tools/tools.ts';
import { type DiskFile, diskFiles, identityOf, withBacking } from './disk-files.ts';

/** Folder of a golden image: named by the digest of its disk, in every installation. */
const GOLDEN = /\/[0-9a-f]{64}$/;
const OWNER_WRITES = 0o200;

/** Decides if a source may write to its disks: they may be backing files of sandboxes, snapshots or machines. */
export class DiskWriteGuard {
  constructor(private readonly deps: LibvirtTools) {}

  /**
   * Makes the source's disks writable, unless others depend on them.
   * @throws MayflyError source_read_only, source_in_use
   */
  async release({ name, xml }: Source): Promise<void> {
    const written = (await diskFiles(parseDomain(xml), this.deps.sources)).filter(({ isWritten }) => isWritten);
    for (const { path } of written) await this.#assertNotOurs(name, path);
    const identities = new Set<string | null>();
    for (const { path } of written) identities.add(await identityOf(path));
    identities.delete(null);
    const isOne = memoize(async (path) => identities.has(await identityOf(path)));
    const referring = await this.deps.references.over(isOne);
    const users = [...(referring === null ? [] : [referring]), ...(await this.#domainsWith(isOne, name))];
    if (users.length > 0) {
      const why = `It would change a disk that ${users.join(', ')} refers to`;
      throw new MayflyError('source_in_use', `${JSON.stringify(name)} is not started. ${why}.`);
    }
    for (const disk of written) await makeWritable(disk);
  }

  /** Refuses disks of Mayfly's own folders, except baked sources. */
  async #assertNotOurs(name: string, path: string): Promise<void> {
    const { images, sandboxes, snapshots, captures } = this.deps.state;
    const real = (await orAbsent(realpath(path))) ?? path;
    const isIn = async (folder: string) => real.startsWith(`${(await orAbsent(realpath(folder))) ?? folder}${sep}`);
    for (const folder of [images, sandboxes, snapshots, captures]) {
      if ((await isIn(folder)) && !(await isIn(join(images, 'baked')))) throw readOnly(name, real);
    }
    if (GOLDEN.test(dirname(real))) throw readOnly(name, real);
  }

  /** Returns other domains with such a disk, also another Mayfly's sandboxes. An unreadable disk counts too. */
  async #domainsWith(isOne: (path: string) => Promise<boolean>, name: string): Promise<string[]> {
    const ours = new Set(await workspaceIds(this.deps.state));
    const found: string[] = [];
    for (const { name: other, uuid } of await this.deps.domains.list()) {
      if (other === name || (isSandboxId(other) && ours.has(other))) continue;
      for (const disk of await this.#disksOf(uuid)) {
        if (await refers(disk, isOne)) found.push(`the domain ${JSON.stringify(other)}`);
      }
    }
    return [...new Set(found)];
  }

  /** Dumps by UUID: virsh would interpret some names as something else. */
  async #disksOf(uuid: string): Promise<DiskFile[]> {
    const xml = await nullIfMissing(this.deps.virsh.run(['dumpxml', uuid]));
    return xml === null ? [] : await diskFiles(parseDomain(xml), this.deps.sources); // none: just removed
  }
}

async function refers(disk: DiskFile, isOne: (path: string) => Promise<boolean>): Promise<boolean> {
  if ((await identityOf(disk.path)) === null) return false;
  try {
    for (const path of await withBacking(disk)) if (await isOne(path)) return true;
    return false;
  } catch (error) {
    if (error instanceof ExecError) return true;
    throw error;
  }
}

/** Restores the owner's write permission, removed at the first clone: QEMU is not root, and could not write. */
async function makeWritable({ path }: DiskFile): Promise<void> {
  const found = await orAbsent(stat(path));
  if (!found?.isFile() || (found.mode & OWNER_WRITES) !== 0) return;
  await chmod(path, (found.mode & 0o777) | OWNER_WRITES);
}

function memoize(ask: (path: string) => Promise<boolean>): (path: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return (path) => {
    const answer = known.get(path) ?? ask(path);
    known.set(path, answer);
    return answer;
  };
}

function readOnly(name: string, path: string): MayflyError {
  return new MayflyError('source_read_only', `${JSON.stringify(name)} would write to ${path}, which must not change.`);
}
