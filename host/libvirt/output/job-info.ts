/** What libvirt is at work on with a domain, by `virsh domjobinfo`: `Save`, `Restore` …; null when it is nothing. */
export function jobOf(text: string): string | null {
  const type = fieldOf(text, 'Job type');
  if (type === null || type === 'None') return null;
  return fieldOf(text, 'Operation') ?? type;
}

/** KiB of memory that a domain may have, by `virsh dominfo`; null when that does not say it. */
export function maxMemoryKib(text: string): number | null {
  const [, kib] = /^(\d+) KiB$/.exec(fieldOf(text, 'Max memory') ?? '') ?? [];
  return kib === undefined ? null : Number(kib);
}

export function fieldOf(text: string, name: string): string | null {
  const line = text.split('\n').find((one) => one.startsWith(`${name}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}
