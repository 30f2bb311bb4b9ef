import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { domainUuid, ID_BYTES, macAddress, sandboxIdFrom } from '../../../model/ids.ts';
import { child, type Element, parseXml, setText, textOf } from '../client/xml.ts';
import { cloneXml } from '../domain-xml/clone-xml.ts';
import { FREEZE } from '../guest/freezer.ts';
import { PREPARE_TEMPLATE_GUEST } from './settle-guest.ts';

interface TemplateMachine {
  sourceXml: string;
  cpus: number | null;
  memoryMib: number | null;
  accelerator: 'kvm' | 'tcg';
  limitsCpus: boolean;
}

/** Version of the recipe: a change renews all templates, for reasons not covered by the key. */
const RECIPE = 1;
/** Neutral id: the machine's description must hold nothing of one sandbox. */
const NEUTRAL_ID = sandboxIdFrom(Buffer.alloc(ID_BYTES));
/** Devices whose state is not saved with the memory, or which belong to the host. */
const NOT_SAVED = ['tpm', 'vsock', 'iommu', 'nvram'];
const PROGRAMS = ['kernel', 'initrd', 'dtb', 'loader'];

/** Returns the hardware of that source's sandboxes; null when the state of some is not saved with its memory. */
export function buildHardware({
  sourceXml,
  cpus,
  memoryMib,
  accelerator,
  limitsCpus,
}: TemplateMachine): Element | null {
  const xml = cloneXml(sourceXml, {
    name: NEUTRAL_ID,
    uuid: domainUuid(NEUTRAL_ID),
    rootOverlay: '/disk.qcow2',
    seed: '/seed.iso',
    cpus,
    memoryMib,
    network: 'any',
    mac: (nic) => macAddress(NEUTRAL_ID, nic),
    accelerator,
    limitsCpus,
    bases: new Map(),
  });
  return NOT_SAVED.some((name) => new RegExp(`<${name}[\\s/>]`).test(xml)) ? null : parseXml(xml);
}

/** Removes and returns paths of files besides disks (QEMU, kernel, firmware): content counts, paths do not. */
export function takePrograms(hardware: Element): string[] {
  const os = child(hardware, 'os');
  const devices = child(hardware, 'devices');
  const found = [devices && child(devices, 'emulator'), ...PROGRAMS.map((name) => os && child(os, name))];
  return found.flatMap((program) => {
    const path = textOf(program);
    if (program) setText(program, '');
    return path === '' ? [] : [path];
  });
}

/**
 * Digests all that a woken machine must find unchanged. File content counts, names and times do not.
 * @param content SHA-256 of each file of the source's disks, and of each of {@link takePrograms}, hex
 * @param hypervisor version text of libvirt
 */
export async function templateKeyOf(
  project: string,
  hardware: string,
  content: readonly string[],
  hypervisor: string,
): Promise<string> {
  const about = [RECIPE, FREEZE, PREPARE_TEMPLATE_GUEST, project, hardware, content, hypervisor, await processor()];
  return createHash('sha256').update(JSON.stringify(about)).digest('hex');
}

/** Returns the CPU's description by the kernel: features that a guest has seen must exist when it wakes. */
async function processor(): Promise<string> {
  const text = await readFile('/proc/cpuinfo', 'utf8');
  return text
    .split('\n')
    .filter((line) => /^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU part)\s*:/.test(line))
    .slice(0, 7)
    .join('\n');
}
