import { isSandboxId } from '../../../model/sandbox-id.ts';

/**
 * KiB of memory that the QEMU of each sandbox holds, of what `virsh domstats --balloon` prints: a paragraph a domain,
 * `Domain: 'NAME'` above its figures. Other domains, and sandboxes without the figure, are left out.
 */
export function residentSizes(stats: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const paragraph of stats.split(/^Domain: /m)) {
    const [, name] = /^'(.*)'$/m.exec(paragraph) ?? [];
    const [, rss] = /^ *balloon\.rss=(\d+)$/m.exec(paragraph) ?? [];
    if (name !== undefined && rss !== undefined && isSandboxId(name)) sizes.set(name, Number(rss));
  }
  return sizes;
}
