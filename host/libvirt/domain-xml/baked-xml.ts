import { macAddress } from '../../../model/ids.ts';
import type { BakeRequest } from '../../baking.ts';
import { buildXml, child, childElements, type Element, element, removeChildren, setText } from '../client/xml.ts';
import { cloneXml, parseDomain } from './clone-xml.ts';

/** The namespace of our mark in the metadata of a source that we made. */
const MARK_NAMESPACE = 'urn:mayfly:source:1';
/** What a machine that boots without firmware needs besides its disks. */
const BOOT_FILES = ['kernel', 'initrd', 'dtb'];

/** The host's files that a domain boots from, by the name of their element. */
export function bootFiles(domain: Element): { name: string; path: string }[] {
  const os = child(domain, 'os');
  return (os ? childElements(os) : []).flatMap((node) => {
    const [text] = node.children;
    return BOOT_FILES.includes(node.name) && typeof text === 'string' ? [{ name: node.name, path: text.trim() }] : [];
  });
}

/**
 * The builder's hardware without its seed, mark and addresses, with images of its own. @param rootDisk where
 * `planDisks` begins @param boot where the copies of {@link bootFiles} lie, by name
 */
export function bakedXml(
  builderXml: string,
  { sourceId, name, bakeId, snapshotId }: BakeRequest,
  { uuid, rootDisk, boot }: { uuid: string; rootDisk: string; boot: ReadonlyMap<string, string> },
): string {
  const xml = cloneXml(builderXml, {
    name,
    uuid,
    rootOverlay: rootDisk,
    seed: null,
    cpus: null,
    memoryMib: null,
    network: null,
    mac: (nic) => macAddress(sourceId, nic),
    accelerator: null,
    limitsCpus: false, // a source runs for nobody but who prepares it
    bases: new Map(),
  });
  const domain = parseDomain(xml);
  const mark = element('mayfly:source', { 'xmlns:mayfly': MARK_NAMESPACE, bake: bakeId, snapshot: snapshotId });
  for (const metadata of childElements(domain, 'metadata')) metadata.children = [mark];
  for (const devices of childElements(domain, 'devices')) {
    removeChildren(devices, (d) => d.name === 'disk' && d.attributes['device'] === 'cdrom');
  }
  for (const os of childElements(domain, 'os')) {
    for (const node of childElements(os)) {
      const copy = boot.get(node.name);
      if (copy !== undefined) setText(node, copy);
    }
  }
  return buildXml(domain);
}
