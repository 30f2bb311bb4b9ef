import { stat } from 'node:fs/promises';
import { imageChain } from '../../disk/image.ts';
import { orAbsent } from '../../os/absent.ts';
import { child, childElements, type Element } from '../client/xml.ts';
import type { Sources } from '../layers/sources.ts';

/** A file or block device that a disk of a domain lies in. */
export interface DiskFile {
  path: string;
  /** As the domain declares it; libvirt takes raw when it declares none. */
  format: string;
  /** The domain writes it when it runs. */
  isWritten: boolean;
}

/** The files that are a domain's disks, without what lies below them. A disk that is no file of this machine has none. */
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

/** A disk and all that it is backed by. @throws ExecError when a layer is missing or of another format */
export async function withBacking({ path, format }: DiskFile): Promise<string[]> {
  const chain = await imageChain(path, format);
  return [path, ...chain.map((layer) => layer.path)];
}

/** What a path leads to, whatever it is called; null: nothing. */
export async function identityOf(path: string): Promise<string | null> {
  const found = await orAbsent(stat(path, { bigint: true }));
  if (!found) return null;
  return found.isBlockDevice() ? `device ${found.rdev}` : `${found.dev} ${found.ino}`;
}
