import type { FileChange, FileDescription, GuestName } from '../../../model/files/file-change.ts';
import { toGuestNameBytes } from '../../../model/files/guest-name.ts';
import { byPath, type Difference } from './logged-tree.ts';

export const latin1 = (name: GuestName) => toGuestNameBytes(name).toString('latin1');

/** Returns changes in the form of a tree's log. @param root path of the tree in the file system; '' for its root */
export function asLogged(found: readonly FileChange[], root: string): Difference[] {
  const inTree = (name: GuestName) => latin1(name).slice(root.length).replace(/^\/$/, '');
  return found
    .map(({ change, path, from, what, before, ...after }) => ({
      change,
      path: inTree(path),
      from: from && inTree(from),
      what,
      after: inFewWords(after),
      before: before && inFewWords(before),
    }))
    .sort(byPath);
}

function inFewWords({ type, size, mode, uid, gid, links, target, device, xattrs, digest }: FileDescription): object {
  const attributes = xattrs.map(({ name, value }) => [latin1(name), Buffer.from(value, 'base64').toString('latin1')]);
  return {
    type,
    size,
    mode,
    uid,
    gid,
    device,
    digest,
    links: type === 'directory' ? null : links,
    target: target === null ? null : latin1(target),
    xattrs: Object.fromEntries(attributes),
  };
}
