/** RFC 3986, appendix B: scheme, authority, path, query, fragment. */
const PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;
const PERCENT = '%[0-9A-Fa-f]{2}';
/** Unreserved characters and sub-delims. */
const PLAIN = "A-Za-z0-9\\-._~!$&'()*+,;=";
const AUTHORITY = new RegExp(
  `^(?:(?:[${PLAIN}:]|${PERCENT})*@)?(?:\\[(?:[0-9A-Fa-f:.]+|[Vv][0-9A-Fa-f]+\\.[${PLAIN}:]+)\\]|(?:[${PLAIN}]|${PERCENT})*)(?::[0-9]*)?$`,
);
const PATH = new RegExp(`^(?:[${PLAIN}:@/]|${PERCENT})*$`);
/** Query or fragment. */
const REST = new RegExp(`^(?:[${PLAIN}:@/?]|${PERCENT})*$`);

/**
 * True for a URI-reference of RFC 3986 §4.1, absolute or relative. Does not fully validate the content of an IP
 * literal.
 */
export function isUriReference(text: string): boolean {
  const match = PARTS.exec(text);
  if (!match) return false;
  const [, scheme, authority = '', path = '', query = '', fragment = ''] = match;
  if (scheme !== undefined && !SCHEME.test(scheme)) return false;
  if (scheme === undefined && path.startsWith(':')) return false;
  return AUTHORITY.test(authority) && PATH.test(path) && REST.test(query) && REST.test(fragment);
}

/** True for an absolute URI of RFC 3986 §4.3: with a scheme, without a fragment, as CloudEvents requires. */
export function isAbsoluteUri(text: string): boolean {
  const [, scheme] = PARTS.exec(text) ?? [];
  return scheme !== undefined && !text.includes('#') && isUriReference(text);
}
