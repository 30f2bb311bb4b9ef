import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import type { Boot } from '../../../model/sandbox/sandbox.ts';
import { isSandboxId } from '../../../model/sandbox-id.ts';
import { allocatedIn } from '../../disk/host-disk.ts';
import type { Clone, CloneRequest } from '../../hypervisor.ts';
import { orAbsent } from '../../os/absent.ts';
import { writeFileAtomic, writeFilesAtomic } from '../../os/atomic-file.ts';
import { isThere } from '../../os/directory.ts';
import type { StateDir } from '../../state-dir.ts';
import { buildXml, type Element, parseXml } from '../client/xml.ts';
import { layeredDisks } from './disk-layers.ts';

/** Description of a finished clone; spec.json. Written last, so its existence proves that the rest is complete. */
export interface CloneSpec {
  request: CloneRequest;
  clone: Clone;
  /** Disks below it, with their content (null: a block device). */
  bases: { path: string; sha256: string | null }[];
  /** Ids of the snapshots below its disks, newest first. */
  snapshots: string[];
  /** Restore that gave it its present disks, or null. */
  restoreId: string | null;
  /** Snapshot whose memory its next start wakes from; null: it boots. */
  wakesFrom: string | null;
  /** Kind of its last or next start. Absent in workspaces older than templates. */
  boot?: Boot;
}

const MEMORY = 'memory.';

/** Folder mode that lets QEMU, which is another user, reach its files. */
export const SEARCHABLE = 0o711;

/** Folder of one sandbox on the host, with all its files. */
export class Workspace {
  readonly folder: string;
  readonly overlay: string;
  readonly seed: string;
  /** Digest of a hibernated sandbox's memory. */
  readonly memoryDigest: string;
  readonly domainXml: string;
  readonly #pulling: string;

  constructor(
    state: StateDir,
    readonly sandboxId: string,
  ) {
    this.folder = state.workspace(sandboxId);
    this.overlay = join(this.folder, 'disk.qcow2');
    this.seed = join(this.folder, 'seed.iso');
    this.memoryDigest = join(this.folder, 'memory-digest.json');
    this.domainXml = join(this.folder, 'domain.xml');
    this.#pulling = join(this.folder, 'pulling');
  }

  /** Returns the overlay for a disk's writes after a snapshot or a restore. @param by the id of that */
  overlayOf = (target: string, by: string) => join(this.folder, `${target}.${by}.qcow2`);

  /** True when a flatten of its disks was running at the last write here. */
  isPulling = () => isThere(this.#pulling);
  markPulling = () => writeFileAtomic(this.#pulling, '', 0o600);
  unmarkPulling = () => rm(this.#pulling, { force: true });

  async make(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: SEARCHABLE });
  }

  async spec(): Promise<CloneSpec | null> {
    const text = await orAbsent(readFile(join(this.folder, 'spec.json'), 'utf8'));
    if (text === null) return null;
    const content: unknown = JSON.parse(text);
    if (isSpec(content)) return content;
    throw new MayflyError('clone_failed', `${this.folder}/spec.json is not what was written there.`);
  }

  async finish(spec: CloneSpec, domainXml: string): Promise<void> {
    await writeFilesAtomic(this.folder, [
      { name: basename(this.domainXml), text: domainXml, mode: 0o600 },
      { name: 'spec.json', text: JSON.stringify(spec), mode: 0o600 },
    ]);
  }

  /** Returns the definition for bootDomain. */
  async domain(): Promise<Element> {
    return parseXml(await this.domainText());
  }
  domainText = () => readFile(this.domainXml, 'utf8');

  /** Gives an existing clone other disks, and removes unreferenced layers. */
  async change(spec: CloneSpec, domain: Element): Promise<void> {
    await this.finish(spec, buildXml(domain));
    const used = new Set(layeredDisks(domain).map(({ layers: [active] }) => active.path));
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      if (/\.qcow2(?:\.new|\.taken-back)?$/.test(name) && !used.has(path)) await rm(path);
    }
  }

  /**
   * Returns a new path for memory that libvirt reads. New each time: libvirtd may still be reading the previous file
   * for a killed worker.
   */
  async newMemory(): Promise<string> {
    for (const name of await readdir(this.folder)) {
      if (name.startsWith(MEMORY)) await rm(join(this.folder, name), { force: true });
    }
    return join(this.folder, `${MEMORY}${randomBytes(8).toString('hex')}`);
  }

  /** Returns the bytes allocated to its files on the host; 0 when it is absent. */
  allocatedBytes = () => allocatedIn(this.folder);
}

export async function workspaceIds(state: StateDir): Promise<string[]> {
  const found = await orAbsent(readdir(state.sandboxes));
  return (found ?? []).filter(isSandboxId);
}

function isSpec(value: unknown): value is CloneSpec {
  if (typeof value !== 'object' || value === null || !('request' in value && 'clone' in value)) return false;
  return 'bases' in value && Array.isArray(value.bases) && 'snapshots' in value && Array.isArray(value.snapshots);
}
