import type { SystemFiles } from './change.ts';

export interface Package {
  /** With a foreign architecture: `libc6:i386`. */
  name: string;
  version: string;
  /** True when installed only as a dependency. */
  isAuto: boolean;
  /** MD5 by path. */
  conffiles: Map<string, string>;
}

/** `purge`: its configuration was removed too. */
export interface PackageChange {
  installed: Package[];
  /** Packages with another version. */
  changed: Package[];
  removed: { name: string; purge: boolean }[];
  /** Packages whose automatic mark changed. */
  marked: Package[];
}

interface InstalledPackages {
  packages: Map<string, Package>;
  /** Removed packages whose configuration is still there. */
  configured: Set<string>;
}

/** Compares the packages in dpkg's status. */
export function comparePackages(before: SystemFiles, after: SystemFiles): PackageChange {
  const [old, now] = [parsePackages(before), parsePackages(after)];
  const all = [...now.packages.values()];
  const removed = [...old.packages.keys()].filter((name) => !now.packages.has(name));
  const purged = [...old.configured].filter((name) => !now.packages.has(name) && !now.configured.has(name));
  return {
    installed: all.filter(({ name }) => !old.packages.has(name)),
    changed: all.filter(({ name, version }) => (old.packages.get(name)?.version ?? version) !== version),
    removed: [...removed, ...purged].map((name) => ({ name, purge: !now.configured.has(name) })),
    marked: all.filter(({ name, isAuto }) => (old.packages.get(name)?.isAuto ?? isAuto) !== isAuto),
  };
}

export function parsePackages({ status, extended }: Pick<SystemFiles, 'status' | 'extended'>): InstalledPackages {
  const native = paragraphsOf(status).find(({ Package: name }) => name === 'dpkg')?.['Architecture'];
  const idOf = ({ Package: name = '', Architecture: of }: Record<string, string>) =>
    of === undefined || of === 'all' || of === native ? name : `${name}:${of}`;
  const automatic = new Set(
    paragraphsOf(extended)
      .filter((one) => one['Auto-Installed'] === '1')
      .map(idOf),
  );
  const known: InstalledPackages = { packages: new Map(), configured: new Set() };
  for (const one of paragraphsOf(status)) {
    const name = idOf(one);
    const state = one['Status']?.split(' ')[2];
    if (state === 'config-files') known.configured.add(name);
    if (state !== 'installed') continue;
    const conffiles = new Map(
      (one['Conffiles'] ?? '').split('\n').flatMap((line) => {
        const [path = '', md5 = ''] = line.trim().split(' ');
        return path.startsWith('/') ? [[path, md5] as const] : [];
      }),
    );
    known.packages.set(name, { name, version: one['Version'] ?? '', isAuto: automatic.has(name), conffiles });
  }
  return known;
}

/** Parses the paragraphs of deb-control(5), with continuation lines. */
function paragraphsOf(text: string): Record<string, string>[] {
  return text.split(/\n{2,}/).flatMap((paragraph) => {
    const fields: Record<string, string> = Object.create(null);
    let last = '';
    for (const line of paragraph.split('\n')) {
      if (/^[ \t]/.test(line)) fields[last] = `${fields[last] ?? ''}\n${line}`;
      else {
        const colon = line.indexOf(':');
        last = line.slice(0, Math.max(colon, 0));
        if (colon > 0) fields[last] = line.slice(colon + 1).trim();
      }
    }
    return fields['Package'] === undefined ? [] : [fields];
  });
}

/** True for names and versions of deb-control(5) and deb-version(7), which are safe on a command line. */
export function isValidPackage({ name, version }: { name: string; version?: string }): boolean {
  return (
    /^[a-z0-9][a-z0-9+.-]{1,127}(?::[a-z0-9-]{1,32})?$/.test(name) &&
    (version === undefined || /^[0-9][A-Za-z0-9.+:~-]{0,127}$/.test(version))
  );
}

/** Returns the path below /usr to which Debian 12 links a root folder; dpkg's lists have the old paths. */
export function toMergedPath(path: string): string {
  return /^\/(?:bin|sbin|lib(?:32|64|x32)?)\//.test(path) ? `/usr${path}` : path;
}
