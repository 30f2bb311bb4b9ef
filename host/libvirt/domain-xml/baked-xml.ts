import { macAddress } from '../../../model/ids.ts';
import type { BakeRequest } from '../../baking.ts';
import { buildXml, child, childElements, type Element, element, removeChildren, setText } from '../client/xml.ts';
import { cloneXml, parseDomain } from './clone-xml.ts';

/** Namespace of Mayfly's mark in the metadata of a baked source. */
const MARK_NAMESPACE = 'urn:mayfly:source:1';
/** Elements of the host's files for a boot without firmware. */
const BOOT_FILES = ['kernel', 'initrd', 'dtb'];

/** Returns the host's files that a domain boots from, by the name of their element. */
export function bootFiles(domain: Element): { name: string; path: string }[] {
  const os = child(domain, 'os');
  return (os ? childElements(os) : []).flatMap((node) => {
    const [text] = node.children;
    return BOOT_FILES.includes(node.name) && typeof text === 'string' ? [{ name: node.name, path: text.trim() }] : [];
  });
}

/**
 * Returns the builder's hardware without its seed, mark and addresses, with images of its own. @param rootDisk start of
 * `planDisks` @param boot paths of the copies of {@link bootFiles}, by name
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
    limitsCpus: false, // a source runs only while it is prepared
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
