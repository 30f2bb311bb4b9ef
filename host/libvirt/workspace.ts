import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/ids.ts';
import { writeFileAtomic } from '../atomic-file.ts';
import { entriesOf } from '../directory.ts';
import { orAbsent } from '../disk/absent.ts';
import type { Clone, CloneRequest } from '../hypervisor.ts';
import type { StateDir } from '../state-dir.ts';

/** What a finished clone was made of; spec.json. Its file is written last, so when it is there, the rest is. */
export interface CloneSpec {
  request: CloneRequest;
  clone: Clone;
  /** The disks it leans on, with the content they had (null: a block device). */
  bases: { path: string; sha256: string | null }[];
}

/** QEMU, which is another user, must get through to the files it is given. */
const SEARCHABLE = 0o711;

/** One sandbox's folder on the host: everything of it that is a file. */
export class Workspace {
  readonly folder: string;

  constructor(state: StateDir, sandboxId: string) {
    this.folder = state.workspace(sandboxId);
  }

  get overlay(): string {
    return join(this.folder, 'disk.qcow2');
  }
  get seed(): string {
    return join(this.folder, 'seed.iso');
  }
  get domainXml(): string {
    return join(this.folder, 'domain.xml');
  }

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
    await writeFileAtomic(this.domainXml, domainXml, 0o600);
    await writeFileAtomic(join(this.folder, 'spec.json'), JSON.stringify(spec), 0o600);
  }

  /** Bytes its files take on the host; 0 when it is not there. */
  async allocatedBytes(): Promise<number> {
    let sum = 0;
    for (const name of (await entriesOf(this.folder)) ?? []) {
      const file = await orAbsent(stat(join(this.folder, name)));
      sum += (file?.blocks ?? 0) * 512;
    }
    return sum;
  }
}

/** The ids of all sandboxes that have a workspace. */
export async function workspaceIds(state: StateDir): Promise<string[]> {
  const found = await orAbsent(readdir(state.sandboxes));
  return (found ?? []).filter(isSandboxId);
}

function isSpec(value: unknown): value is CloneSpec {
  if (typeof value !== 'object' || value === null || !('request' in value && 'clone' in value)) return false;
  return 'bases' in value && Array.isArray(value.bases);
}
