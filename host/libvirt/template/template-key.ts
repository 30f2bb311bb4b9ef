import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { domainUuid, ID_BYTES, macAddress, sandboxIdFrom } from '../../../model/ids.ts';
import { child, type Element, parseXml, setText, textOf } from '../client/xml.ts';
import { cloneXml } from '../domain-xml/clone-xml.ts';
import { FREEZE } from '../guest/freezer.ts';
import { SETTLE_GUEST } from './settle-guest.ts';

interface TemplateMachine {
  sourceXml: string;
  cpus: number | null;
  memoryMib: number | null;
  accelerator: 'kvm' | 'tcg';
  limitsCpus: boolean;
}

/** To be changed where templates are to be made anew for another reason than what is named here. */
const RECIPE = 1;
/** The machine is described as nobody's: nothing of it is one sandbox's own. */
const NOBODY = sandboxIdFrom(Buffer.alloc(ID_BYTES));
/** State that is not saved with the memory, or is a piece of the host. */
const NOT_SAVED = ['tpm', 'vsock', 'iommu', 'nvram'];
const PROGRAMS = ['kernel', 'initrd', 'dtb', 'loader'];

/** The hardware of a sandbox of that source; null: it has some whose state is not saved with its memory. */
export function hardwareOf({ sourceXml, cpus, memoryMib, accelerator, limitsCpus }: TemplateMachine): Element | null {
  const xml = cloneXml(sourceXml, {
    name: NOBODY,
    uuid: domainUuid(NOBODY),
    rootOverlay: '/disk.qcow2',
    seed: '/seed.iso',
    cpus,
    memoryMib,
    network: 'any',
    mac: (nic) => macAddress(NOBODY, nic),
    accelerator,
    limitsCpus,
    bases: new Map(),
  });
  return NOT_SAVED.some((name) => new RegExp(`<${name}[\\s/>]`).test(xml)) ? null : parseXml(xml);
}

/** Takes the files out of it that a machine runs beside its disks (QEMU itself, kernel, firmware): what they hold counts, not where. */
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
 * One name for all that a machine which wakes must find as it was. Names and times of files are no part of it: what they hold is.
 * @param content SHA-256 of each file of the source's disks, and of each of {@link takePrograms}, hex
 * @param hypervisor what libvirt says of its version
 */
export async function templateKeyOf(
  project: string,
  hardware: string,
  content: readonly string[],
  hypervisor: string,
): Promise<string> {
  const about = [RECIPE, FREEZE, SETTLE_GUEST, project, hardware, content, hypervisor, await processor()];
  return createHash('sha256').update(JSON.stringify(about)).digest('hex');
}

/** Of this machine, as its kernel describes it: what a guest has seen of it must be there when it wakes. */
async function processor(): Promise<string> {
  const text = await readFile('/proc/cpuinfo', 'utf8');
  return text
    .split('\n')
    .filter((line) => /^(?:vendor_id|cpu family|model|model name|stepping|flags|Features|CPU part)\s*:/.test(line))
    .slice(0, 7)
    .join('\n');
}
