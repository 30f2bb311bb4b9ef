/** What is wrong with the address at which senders reach hooks; null: nothing. */
export function problemOfHooks(url: string): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const { pathname, search, hash, username, password, protocol } = parsed ?? {};
  const isPlain = pathname === '/' && [search, hash, username, password].every((part) => part === '');
  if (isPlain && (protocol === 'http:' || protocol === 'https:')) return null;
  return 'give a scheme, a name and perhaps a port, such as https://hooks.example.net';
}
