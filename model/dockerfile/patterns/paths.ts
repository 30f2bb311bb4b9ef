/** An absolute path, from one that may be relative to a folder; `..` does not lead above the root. A `/` at its end stays. */
export function absolute(path: string, folder: string): string {
  const all = path.startsWith('/') ? path : `${folder}/${path}`;
  const clean = `/${cleaned(all)}`;
  return isFolder(path) && clean !== '/' ? `${clean}/` : clean;
}

/** A path below a root, without `.`, `..` and double slashes; the root itself is ''. */
export function cleaned(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Whether it says that it is one, whatever is there. */
function isFolder(path: string): boolean {
  return path.endsWith('/') || path === '.' || path.endsWith('/.');
}
