import { getPath } from 'hono/utils/url';
import { FilePath } from '../../services/files/file-access.ts';

const FILE_URL = /^https?:\/\/[^/]+(\/v1\/(?:sandboxes|sources)\/[^/?#]+\/files\/)([^?#]*)/;
const FILE_ROUTE = /^\/v1\/(?:sandboxes|sources)\/[^/]+\/files\//;

/**
 * Returns the path by which Hono routes. A file path becomes one encoded segment: decoded, it would lose bytes that are
 * not UTF-8, and its slashes and newlines would match other routes.
 */
export function routedPath(request: Request): string {
  const [, route, path] = FILE_URL.exec(request.url) ?? [];
  if (route === undefined || path === undefined) return getPath(request);
  return route + (path.replaceAll('/', '%2F') || '%2F');
}

/** True when the request body is the content of a file: streamed, of any size and type. */
export function isFilePath(routed: string): boolean {
  return FILE_ROUTE.test(routed);
}

/** @param routed result of {@link routedPath} @throws MayflyError invalid_request */
export function filePathOf(routed: string): FilePath {
  return FilePath.of(routed.replace(FILE_ROUTE, ''));
}
