import { tableRows } from './tables.ts';

interface ListedDisk {
  /** `file`, `block`, `network` …; null when the listing was made without `--details`. */
  kind: string | null;
  target: string;
  /** Path, device or volume; it may hold blanks. */
  source: string;
}

const KINDS = 'file|block|dir|network|volume|nvme|vhostuser|vhostvdpa';
const DETAILED = new RegExp(`^\\s*(${KINDS})\\s+(disk|lun|cdrom|floppy)\\s+(\\S+)\\s+(\\S.*?)\\s*$`);
const SHORT = /^\s*([a-z]+[a-z0-9]*)\s+(\S.*?)\s*$/;

/** Parses `virsh domblklist`, with or without `--details`: returns the disks that have a source, in their order. */
export function listedDisks(text: string): ListedDisk[] {
  return tableRows(text).flatMap<ListedDisk>((row) => {
    const detailed = DETAILED.exec(row);
    if (detailed) {
      const [, kind = '', device = '', target = '', source = ''] = detailed;
      return source === '-' || (device !== 'disk' && device !== 'lun') ? [] : [{ kind, target, source }];
    }
    const [, target = '', source = '-'] = SHORT.exec(row) ?? [];
    return source === '-' || isHeader(target, source) ? [] : [{ kind: null, target, source }];
  });
}

function isHeader(first: string, second: string): boolean {
  return first === 'Target' || second === 'Source';
}
