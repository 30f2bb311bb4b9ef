import { isSandboxId } from '../../../model/sandbox-id.ts';

/**
 * Parses `virsh domstats --balloon`: resident KiB of each sandbox's QEMU, one paragraph per domain with `Domain:
 * 'NAME'` above its figures. Other domains, and sandboxes without the figure, are left out.
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
