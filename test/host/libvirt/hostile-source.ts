/** Source that shares with its clones, or opens to the world, everything a domain can. */
export const HOSTILE_SOURCE = `<domain type='kvm' id='3' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>golden &amp; co</name>
  <uuid>12345678-1234-1234-1234-123456789012</uuid>
  <title>Golden</title>
  <description>production</description>
  <metadata><other:thing xmlns:other='urn:other'>prod</other:thing></metadata>
  <genid>12345678-aaaa-bbbb-cccc-123456789012</genid>
  <memory unit='GiB'>2</memory>
  <currentMemory unit='MiB'>1024</currentMemory>
  <vcpu placement='static' current='2' cpuset='0-1'>4</vcpu>
  <cputune><vcpupin vcpu='3' cpuset='1'/></cputune>
  <sysinfo type='smbios'>
    <system><entry name='manufacturer'>Acme</entry><entry name='serial'>SN-1</entry><entry name='uuid'>12345678-1234-1234-1234-123456789012</entry></system>
    <oemStrings><entry>io.systemd.credential:token=secret</entry></oemStrings>
  </sysinfo>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE.fd</loader>
    <nvram template='/usr/share/OVMF/OVMF_VARS.fd'>/var/lib/libvirt/qemu/nvram/golden_VARS.fd</nvram>
    <smbios mode='sysinfo'/>
  </os>
  <features><acpi/><kvm><hidden state='on'/></kvm></features>
  <cpu mode='host-passthrough'><topology sockets='1' dies='1' cores='2' threads='2'/></cpu>
  <seclabel type='none' model='dac'/>
  <devices>
    <disk type='file' device='disk' snapshot='external'>
      <driver name='qemu' type='raw' cache='none' io='native'/>
      <source file='/img/boot disk.raw'><seclabel model='dac' relabel='no'/></source>
      <backingStore type='file'><format type='raw'/><source file='/img/below.raw'/></backingStore>
      <target dev='sda' bus='scsi'/><shareable/><serial>ROOT</serial><boot order='2'/>
      <address type='drive' controller='0' bus='0' target='0' unit='0'/>
    </disk>
    <disk type='block' device='lun' sgio='unfiltered'>
      <driver name='qemu' type='raw'/><source dev='/dev/vg0/data'/><target dev='sdb' bus='scsi'/><boot order='1'/>
    </disk>
    <disk type='volume' device='disk'>
      <driver name='qemu' type='qcow2'/><source pool='default' volume='more.qcow2'/><target dev='vda' bus='virtio'/>
      <address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/>
    </disk>
    <disk type='file' device='cdrom'><source file='/iso/installer.iso'/><target dev='sdc' bus='sata'/><readonly/></disk>
    <disk type='file' device='cdrom'><source file='/iso/seed.iso'/><target dev='sdd' bus='sata'/><readonly/></disk>
    <disk type='file' device='floppy'><source file='/iso/floppy.img'/><target dev='fda' bus='fdc'/></disk>
    <controller type='scsi' index='0' model='lsilogic'/>
    <interface type='bridge'>
      <mac address='52:54:00:11:22:33'/><source bridge='br0'/><target dev='golden0'/><model type='e1000e'/>
      <filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.7'/></filterref>
    </interface>
    <interface type='direct'><mac address='52:54:00:44:55:66'/><source dev='eno1' mode='bridge'/></interface>
    <interface type='hostdev' managed='yes'><mac address='52:54:00:77:88:99'/><source><address type='pci' domain='0' bus='1' slot='0' function='1'/></source></interface>
    <serial type='tcp'><source mode='bind' host='0.0.0.0' service='4555'/><protocol type='telnet'/><target port='0'/></serial>
    <console type='file'><source path='/var/log/golden.log'/><target type='serial' port='0'/></console>
    <channel type='unix'><source mode='bind' path='/run/golden.sock'/><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel>
    <graphics type='vnc' port='5901' autoport='no' listen='0.0.0.0' passwd='a'><listen type='address' address='0.0.0.0'/></graphics>
    <graphics type='sdl' display=':0'/>
    <sound model='ich9'/>
    <hostdev mode='subsystem' type='usb' managed='yes'><source><vendor id='0x1234'/><product id='0xbeef'/></source></hostdev>
    <filesystem type='mount'><source dir='/srv/share'/><target dir='share'/></filesystem>
    <vsock model='virtio'><cid auto='no' address='42'/></vsock>
    <watchdog model='i6300esb' action='reset'/>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
  <qemu:commandline><qemu:arg value='-drive'/><qemu:arg value='file=/img/secret.raw'/></qemu:commandline>
</domain>`;

/** Parts of it that must not occur anywhere in a clone. */
export const SHARED_TRACES = [
  '12345678-',
  'golden',
  'Golden',
  'production',
  'urn:other',
  'SN-1',
  'secret',
  '/img/boot disk.raw',
  '/img/below.raw',
  '/dev/vg0',
  'more.qcow2',
  '/iso/',
  '52:54:00:11:22:33',
  '52:54:00:44:55:66',
  '52:54:00:77:88:99',
  'br0',
  'eno1',
  '192.0.2.7',
  '4555',
  '5901',
  '0.0.0.0',
  'passwd',
  '/srv/share',
  '0xbeef',
  'spicevmc',
  'cputune',
  'cpuset',
  'topology',
  "'42'",
  '"42"',
  'hidden',
];
