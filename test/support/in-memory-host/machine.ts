import { createHash } from 'node:crypto';
import type { Clone, Lease } from '../../../host/hypervisor.ts';
import { Bell } from '../../../host/os/bell.ts';
import type { TemplateUse } from '../../../host/templates.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { MachineEnd, MachineState } from '../../../model/sandbox/machine-end.ts';
import type { Boot } from '../../../model/sandbox/sandbox.ts';
import type { BakedImage } from '../../../model/snapshots/baked-source.ts';
import type { SavedDisk } from '../../../model/snapshots/snapshot.ts';

/** Files of a disk by name. Never changed in place, so that references are copies. */
export type Files = ReadonlyMap<string, string>;

/** Origin of clones. */
export interface Image {
  files: Files;
  isRunning: boolean;
  /** Bake that made it; null: a predefined image. */
  baked: { bakeId: string; sourceId: string; snapshotId: string; image: BakedImage } | null;
}

export interface Workspace {
  /** Null while it is incomplete. */
  clone: Clone | null;
  files: Files;
  /** Restore that put the files there; null: none. */
  restoreId: string | null;
  boot: Boot;
  /** True when its network is disconnected. */
  isOffline: boolean;
}

export interface StoredSnapshot {
  sandboxId: string;
  files: Files;
  /** Null while it is incomplete. ISO 8601. */
  savedAt: string | null;
}

export interface StoredCapture {
  source: string;
  files: Files;
  /** Null while it is being copied. ISO 8601. */
  capturedAt: string | null;
  isChecked: boolean;
  /** True when it has its final name. */
  isKept: boolean;
}

export const GOLDEN = 'golden-debian12';

/**
 * Machine that exists only in this process, and outlives hypervisors; {@link write} and {@link read} act as its guests.
 */
export class InMemoryMachine {
  readonly images = new Map<string, Image>([[GOLDEN, { files: new Map(), isRunning: false, baked: null }]]);
  /** Unpublished images by their future names. */
  readonly staged = new Map<string, { bakeId: string; sourceId: string; files: Files; image: BakedImage | null }>();
  readonly workspaces = new Map<string, Workspace>();
  readonly domains = new Map<string, 'running' | 'paused' | 'hibernated'>();
  readonly leases = new Map<string, Lease>();
  readonly snapshots = new Map<string, StoredSnapshot>();
  readonly captures = new Map<string, StoredCapture>();
  /** Templates by their keys. */
  readonly templates = new Map<string, { templateId: string; savedAt: string; use: TemplateUse }>();
  /** True when a cold boot starts the build of a template. */
  makesTemplates = false;
  /** Guests and sources frozen for a copy. */
  readonly frozen = new Set<string>();

  /** Notified when a machine dies. */
  readonly deaths = new Bell();
  readonly #ends = new Map<string, MachineEnd>();

  /** Kills a machine unexpectedly. */
  die(sandboxId: string, end: MachineEnd): void {
    this.#ends.set(sandboxId, end);
    this.domains.delete(sandboxId);
    this.deaths.ring();
  }

  stateOf(sandboxId: string): MachineState {
    const domain = this.domains.get(sandboxId);
    if (domain) return domain === 'hibernated' ? domain : 'on';
    return this.#ends.get(sandboxId) ?? (this.workspaces.has(sandboxId) ? 'stopped' : 'lost');
  }

  isOn(sandboxId: string): boolean {
    return this.domains.has(sandboxId);
  }

  /** Reports whether the guest executes. */
  moves(sandboxId: string): boolean {
    return this.domains.get(sandboxId) === 'running' && !this.frozen.has(sandboxId);
  }

  /** Writes a file in a guest. @throws MayflyError guest_unreachable when it does not run */
  write(sandboxId: string, name: string, content: string): void {
    const workspace = this.#answering(sandboxId);
    workspace.files = new Map(workspace.files).set(name, content);
  }

  /** Returns a file of a guest; null: missing. @throws MayflyError guest_unreachable when it does not run */
  read(sandboxId: string, name: string): string | null {
    return this.#answering(sandboxId).files.get(name) ?? null;
  }

  #answering(sandboxId: string): Workspace {
    const workspace = this.workspaces.get(sandboxId);
    if (workspace && this.moves(sandboxId)) return workspace;
    const state = this.frozen.has(sandboxId) ? 'frozen' : (this.domains.get(sandboxId) ?? 'off');
    throw new MayflyError('guest_unreachable', `${sandboxId} is ${state}.`);
  }
}

/** Returns the sizes and digest of a disk: here of its files. */
export function describeDisk(files: Files): SavedDisk {
  const storedBytes = sizeOf(files);
  const content = [...files.keys()].sort().map((name) => [name, files.get(name)]);
  const sha256 = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return { target: 'root', sha256, virtualBytes: storedBytes, storedBytes };
}

/** Returns the size in bytes. */
export function sizeOf(files: Files): number {
  return [...files].reduce((sum, [name, content]) => sum + name.length + content.length, 0);
}
