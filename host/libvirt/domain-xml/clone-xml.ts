import { MayflyError } from '../../../model/errors.ts';
import type { ImageLayer } from '../../disk/image.ts';
import {
  buildXml,
  child,
  childElements,
  type Element,
  element,
  parseXml,
  removeChildren,
  setText,
} from '../client/xml.ts';
import { setAccelerator } from './clone-accelerator.ts';
import { closeDevices } from './clone-devices.ts';
import { planDisks, replaceDisks } from './clone-disks.ts';
import { plug, replaceInterfaces } from './clone-interfaces.ts';
import { setCpus, setMemory } from './clone-resources.ts';
import { attachSeed } from './clone-seed.ts';
import { throttleCpus, throttleDisks } from './clone-throttles.ts';

/** Namespace of Mayfly's mark in a domain's metadata. */
const MARK_NAMESPACE = 'urn:mayfly:sandbox:1';

export interface CloneParams {
  name: string;
  uuid: string;
  /** Overlay of the root disk; the others' paths are derived from it ({@link planDisks}). */
  rootOverlay: string;
  /** Path of the seed ISO; null leaves the source's CDs as they are. */
  seed: string | null;
  /** null keeps the source's. */
  cpus: number | null;
  /** null keeps the source's. */
  memoryMib: number | null;
  /** libvirt network; null keeps each interface where the source has it. */
  network: string | null;
  mac: (nic: number) => string;
  /** Accelerator of this host; null keeps the source's domain type. */
  accelerator: 'kvm' | 'tcg' | null;
  /** True when its cables are connected. `@default` as the source has them */
  isPlugged?: boolean;
  /** True when this host's libvirt has a cgroup for CPUs; without one it starts no domain with CPU limits. */
  limitsCpus: boolean;
  /**
   * Files below each overlay by target, top first. When given, the XML lists them, and libvirt leaves their owner as it
   * is; otherwise it would give them to QEMU's user, who could then make them writable again.
   */
  bases: ReadonlyMap<string, readonly Pick<ImageLayer, 'path' | 'format'>[]>;
}

/**
 * Returns the source's hardware with a new identity, disks, interfaces and consoles. Unknown elements stay.
 * @throws MayflyError source_unsafe when that can't be done
 */
export function cloneXml(sourceXml: string, params: CloneParams): string {
  const domain = parseDomain(sourceXml);
  const devices = child(domain, 'devices') ?? element('devices');
  const plans = planDisks(domain, params.rootOverlay);
  setIdentity(domain, params);
  if (params.accelerator !== null) setAccelerator(domain, params.accelerator);
  setCpus(domain, params.cpus);
  if (params.limitsCpus) throttleCpus(domain);
  setMemory(domain, params.memoryMib);
  closeDevices(devices);
  replaceDisks(devices, plans, params.bases);
  replaceInterfaces(devices, params.network, params.mac);
  if (params.isPlugged !== undefined) plug(devices, params.isPlugged);
  if (params.seed !== null) attachSeed(devices, params.seed);
  throttleDisks(devices);
  return buildXml(domain);
}

/** @throws MayflyError source_unsafe when it is not the XML of a domain. */
export function parseDomain(xml: string): Element {
  try {
    const root = parseXml(xml);
    if (root.name === 'domain') return root;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new MayflyError('source_unsafe', `The source's XML could not be parsed: ${why}`, { cause: error });
  }
  throw new MayflyError('source_unsafe', "The source's XML could not be parsed: its root is not <domain>.");
}

/** Elements that describe the source or configure its own QEMU. */
const SOURCES_OWN = /^(?:name|uuid|title|description|metadata|seclabel|\w+:(?:commandline|override))$/;

function setIdentity(domain: Element, params: CloneParams): void {
  delete domain.attributes['id'];
  removeChildren(domain, (c) => SOURCES_OWN.test(c.name));
  const mark = element('mayfly:sandbox', { 'xmlns:mayfly': MARK_NAMESPACE, id: params.name });
  domain.children.unshift(
    element('name', {}, params.name),
    element('uuid', {}, params.uuid),
    element('metadata', {}, mark),
  );
  for (const genid of childElements(domain, 'genid')) genid.children = []; // libvirt makes a fresh one
  for (const sysinfo of childElements(domain, 'sysinfo')) setSysinfo(sysinfo, params.uuid);
  const nvram = childElements(domain, 'os').flatMap((os) => childElements(os, 'nvram'));
  for (const store of nvram) {
    // without a path libvirt makes a file of its own, from the firmware's template
    const { template, templateFormat } = store.attributes;
    store.attributes = { ...(template && { template }), ...(templateFormat && { templateFormat }) };
    store.children = [];
  }
}

/** Adapts SMBIOS: the uuid must be the domain's; serial numbers and OEM strings (also credentials) are removed. */
function setSysinfo(sysinfo: Element, uuid: string): void {
  removeChildren(sysinfo, ['oemStrings']);
  for (const table of childElements(sysinfo)) {
    removeChildren(table, (e) => ['serial', 'asset'].includes(e.attributes['name'] ?? ''));
    for (const entry of childElements(table, 'entry')) {
      if (entry.attributes['name'] === 'uuid') setText(entry, uuid);
    }
  }
}
