import { MayflyError } from '../../model/errors.ts';
import { percentDecode } from '../../model/files/file-path.ts';
import { LIMITS } from '../../model/limits.ts';

/**
 * Returns the paths of a query as bytes: Hono would decode them, and lose bytes that are not UTF-8.
 * @param name of the parameter, which may be repeated
 * @throws MayflyError invalid_request
 */
export function pathsIn(url: string, name: string): Uint8Array[] {
  const query = url.split('#')[0]?.split('?').slice(1).join('?') ?? '';
  const found = query.split('&').flatMap((pair) => {
    const [key = '', ...value] = pair.split('=');
    return key === name ? [pathOf(name, value.join('=').replaceAll('+', '%20'))] : [];
  });
  const { maxBytes } = LIMITS.diff.paths;
  if (found.reduce((sum, path) => sum + path.length, 0) <= maxBytes) return found;
  throw invalidPath(name, `must have at most ${maxBytes} bytes in all`);
}

function pathOf(name: string, text: string): Uint8Array {
  const bytes = percentDecode(text);
  if (!bytes) throw invalidPath(name, 'has a % that is not followed by two hexadecimal digits');
  if (bytes.includes(0)) throw invalidPath(name, 'may not have the byte NUL (%00)');
  if (bytes[0] !== 0x2f) throw invalidPath(name, 'must be an absolute path');
  if (bytes.length > LIMITS.path.maxBytes) throw invalidPath(name, `must have at most ${LIMITS.path.maxBytes} bytes`);
  const parts = Buffer.from(bytes).toString('latin1').split('/');
  if (parts.includes('.') || parts.includes('..')) throw invalidPath(name, 'may not have a part . or ..');
  return bytes;
}

function invalidPath(field: string, problem: string): MayflyError {
  return new MayflyError('invalid_request', `The query is not valid: ${field} ${problem}.`, {
    fields: [{ field, problem }],
  });
}
