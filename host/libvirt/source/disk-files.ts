import { stat } from 'node:fs/promises';
import { imageChain } from '../../disk/image.ts';
import { orAbsent } from '../../os/absent.ts';
import { child, childElements, type Element } from '../client/xml.ts';
import type { Sources } from '../layers/sources.ts';

/** File or block device of a domain's disk. */
export interface DiskFile {
  path: string;
  /** Declared by the domain; libvirt takes raw when it declares none. */
  format: string;
  /** True when the running domain writes to it. */
  isWritten: boolean;
}

/** Returns the files of a domain's disks, without their backing files. A disk that is not local has none. */
export async function diskFiles(domain: Element, sources: Pick<Sources, 'pathOf'>): Promise<DiskFile[]> {
  const devices = child(domain, 'devices');
  const found: DiskFile[] = [];
  for (const disk of devices ? childElements(devices, 'disk') : []) {
    const { file, dev, pool, volume } = child(disk, 'source')?.attributes ?? {};
    const path = file ?? dev ?? (pool && volume ? await sources.pathOf({ pool, volume }) : null);
    if (!path) continue;
    const format = child(disk, 'driver')?.attributes['type'] ?? 'raw';
    const isWritten = disk.attributes['device'] !== 'cdrom' && !child(disk, 'readonly');
    found.push({ path, format, isWritten });
  }
  return found;
}

/** Returns a disk with its backing chain. @throws ExecError when a layer is missing or of another format */
export async function withBacking({ path, format }: DiskFile): Promise<string[]> {
  const chain = await imageChain(path, format);
  return [path, ...chain.map((layer) => layer.path)];
}

/** Returns the identity of a path's file or device, independent of its name; null when missing. */
export async function identityOf(path: string): Promise<string | null> {
  const found = await orAbsent(stat(path, { bigint: true }));
  if (!found) return null;
  return found.isBlockDevice() ? `device ${found.rdev}` : `${found.dev} ${found.ino}`;
}
