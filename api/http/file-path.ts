import { getPath } from 'hono/utils/url';
import { FilePath } from '../../services/files/file-access.ts';

const FILE_URL = /^https?:\/\/[^/]+(\/v1\/(?:sandboxes|sources)\/[^/?#]+\/files\/)([^?#]*)/;
const FILE_ROUTE = /^\/v1\/(?:sandboxes|sources)\/[^/]+\/files\//;

/**
 * The path by which Hono finds the route. That of a file becomes one segment and stays encoded: decoded, it would lose
 * bytes that are not UTF-8, and its slashes and newlines would look for other routes.
 */
export function routedPath(request: Request): string {
  const [, route, path] = FILE_URL.exec(request.url) ?? [];
  if (route === undefined || path === undefined) return getPath(request);
  return route + (path.replaceAll('/', '%2F') || '%2F');
}

/** Whether a request's body is the content of a file: of any size and type, and never held as a whole. */
export function isFilePath(routed: string): boolean {
  return FILE_ROUTE.test(routed);
}

/** @param routed what {@link routedPath} made @throws MayflyError invalid_request */
export function filePathOf(routed: string): FilePath {
  return FilePath.of(routed.replace(FILE_ROUTE, ''));
}
