/** Parses `virsh domjobinfo`: returns libvirt's job on a domain, `Save`, `Restore` …; null without one. */
export function jobOf(text: string): string | null {
  const type = fieldOf(text, 'Job type');
  if (type === null || type === 'None') return null;
  return fieldOf(text, 'Operation') ?? type;
}

/** Parses `virsh dominfo`: returns a domain's maximum memory in KiB; null when it is missing. */
export function maxMemoryKib(text: string): number | null {
  const [, kib] = /^(\d+) KiB$/.exec(fieldOf(text, 'Max memory') ?? '') ?? [];
  return kib === undefined ? null : Number(kib);
}

export function fieldOf(text: string, name: string): string | null {
  const line = text.split('\n').find((one) => one.startsWith(`${name}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}
