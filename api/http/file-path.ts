import { getPath } from 'hono/utils/url';
import { MayflyError } from '../../model/errors.ts';
import { percentDecode, percentEncode } from '../../model/files/file-path.ts';
import { LIMITS } from '../../model/limits.ts';

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

/** A path of a guest: absolute, any bytes but NUL, taken as it is. */
export class FilePath {
  private constructor(readonly bytes: Uint8Array) {}

  /**
   * @param routed what {@link routedPath} made
   * @throws MayflyError invalid_request
   */
  static of(routed: string): FilePath {
    const bytes = percentDecode(routed.replace(FILE_ROUTE, ''));
    if (!bytes) throw refused('has a % that is not followed by two hexadecimal digits');
    if (bytes.includes(0)) throw refused('may not have the byte NUL (%00)');
    // The URL leaves the leading slash out; who writes it means the same.
    const absolute = bytes[0] === 0x2f ? bytes : Buffer.concat([Buffer.from('/'), bytes]);
    if (absolute.length > LIMITS.path.maxBytes) throw refused(`must have at most ${LIMITS.path.maxBytes} bytes`);
    return new FilePath(absolute);
  }

  /** As the guest's agent takes it. */
  get base64url(): string {
    return Buffer.from(this.bytes).toString('base64url');
  }

  /** Printable, and unambiguous: for the audit. */
  get encoded(): string {
    return percentEncode(this.bytes);
  }
}

function refused(problem: string): MayflyError {
  return new MayflyError('invalid_request', `The path ${problem}.`, { fields: [{ field: 'path', problem }] });
}
