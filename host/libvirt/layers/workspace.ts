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

/** What a finished clone was made of; spec.json. Its file is written last, so when it is there, the rest is. */
export interface CloneSpec {
  request: CloneRequest;
  clone: Clone;
  /** The disks it refers to, with the content they had (null: a block device). */
  bases: { path: string; sha256: string | null }[];
  /** Ids of the snapshots that its disks refer to, the newest first. */
  snapshots: string[];
  /** The restore that gave it the disks which it has; null: none did. */
  restoreId: string | null;
  /** The snapshot from whose memory it starts the next time; null: it boots. */
  wakesFrom: string | null;
  /** How it came to its machine, or will when that has started. Absent in what is from before there were templates. */
  boot?: Boot;
}

const MEMORY = 'memory.';

/** QEMU, which is another user, must get through to the files it is given. */
export const SEARCHABLE = 0o711;

/** One sandbox's folder on the host: everything of it that is a file. */
export class Workspace {
  readonly folder: string;
  readonly overlay: string;
  readonly seed: string;
  /** Digest of the memory that was saved when it was hibernated. */
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

  /** The overlay that takes a disk's writes from a snapshot or a restore on. @param by the id of that */
  overlayOf = (target: string, by: string) => join(this.folder, `${target}.${by}.qcow2`);

  /** Whether its disks were being flattened when last something was written here. */
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

  /** What bootDomain defines. */
  async domain(): Promise<Element> {
    return parseXml(await this.domainText());
  }
  domainText = () => readFile(this.domainXml, 'utf8');

  /** Gives a clone that is there other disks; what none of them refers to any more goes. */
  async change(spec: CloneSpec, domain: Element): Promise<void> {
    await this.finish(spec, buildXml(domain));
    const used = new Set(layeredDisks(domain).map(({ layers: [active] }) => active.path));
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      if (/\.qcow2(?:\.new|\.taken-back)?$/.test(name) && !used.has(path)) await rm(path);
    }
  }

  /**
   * Where memory is put for libvirt to read. A new place each time: libvirtd may still be reading the one before, whose
   * worker was killed.
   */
  async newMemory(): Promise<string> {
    for (const name of await readdir(this.folder)) {
      if (name.startsWith(MEMORY)) await rm(join(this.folder, name), { force: true });
    }
    return join(this.folder, `${MEMORY}${randomBytes(8).toString('hex')}`);
  }

  /** Bytes its files take on the host; 0 when it is not there. */
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
