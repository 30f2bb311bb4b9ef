/** Resolves a path relative to a folder; `..` stops at the root. Keeps a trailing `/`. */
export function resolvePath(path: string, folder: string): string {
  const all = path.startsWith('/') ? path : `${folder}/${path}`;
  const clean = `/${normalizePath(all)}`;
  return isFolder(path) && clean !== '/' ? `${clean}/` : clean;
}

/** Normalizes a path below a root: no `.`, `..` or double slashes; the root itself is ''. */
export function normalizePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** True when the path is written as a folder. */
function isFolder(path: string): boolean {
  return path.endsWith('/') || path === '.' || path.endsWith('/.');
}
