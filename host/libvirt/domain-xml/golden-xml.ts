import { join } from 'node:path';
import { domainUuid } from '../../../model/ids.ts';
import { buildXml, element } from '../client/xml.ts';

/** Part of a built image's description that its source's definition uses. */
interface GoldenSource {
  name: string;
  kernelCommandLine: string;
}

/** Default memory of a clone. */
const MEMORY_MIB = 512;

/** Returns a domain with direct kernel boot; virtio only, as in its initrd; virtio-scsi for the seed's CD. */
export function goldenXml({ name, kernelCommandLine }: GoldenSource, folder: string): string {
  const rng = element('rng', { model: 'virtio' }, element('backend', { model: 'random' }, '/dev/urandom'));
  const agent = element('target', { type: 'virtio', name: 'org.qemu.guest_agent.0' });
  const disk = element(
    'disk',
    { type: 'file', device: 'disk' },
    // a disposable disk need not survive a crash of the host, so guest flushes need not wait
    element('driver', { name: 'qemu', type: 'qcow2', cache: 'unsafe', discard: 'unmap' }),
    element('source', { file: join(folder, 'disk.qcow2') }),
    element('target', { dev: 'vda', bus: 'virtio' }),
  );
  return buildXml(
    element(
      'domain',
      { type: 'qemu' },
      element('name', {}, name),
      element('uuid', {}, domainUuid(name)),
      element('memory', { unit: 'MiB' }, String(MEMORY_MIB)),
      element('vcpu', {}, '1'),
      element(
        'os',
        {},
        element('type', { arch: 'x86_64', machine: 'q35' }, 'hvm'),
        element('kernel', {}, join(folder, 'vmlinux')),
        element('initrd', {}, join(folder, 'initrd')),
        element('cmdline', {}, kernelCommandLine),
      ),
      element('features', {}, element('acpi')),
      element('cpu', { mode: 'maximum' }),
      element('clock', { offset: 'utc' }),
      element('on_poweroff', {}, 'destroy'),
      element('on_reboot', {}, 'restart'),
      element('on_crash', {}, 'destroy'),
      element(
        'devices',
        {},
        disk,
        element('controller', { type: 'usb', model: 'none' }),
        element('controller', { type: 'scsi', index: '0', model: 'virtio-scsi' }),
        element('serial', { type: 'pty' }),
        element('channel', { type: 'unix' }, agent),
        rng,
        element('memballoon', { model: 'none' }),
      ),
    ),
  );
}
