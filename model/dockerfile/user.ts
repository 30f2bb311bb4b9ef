const ID = '(?:[a-z_][a-z0-9_-]{0,31}\\$?|\\d{1,9})';
const USER = new RegExp(`^${ID}(?::${ID})?$`, 'i');

/** True for a user name or number, alone or with a group: `app`, `1000:1000`. */
export function isUser(text: string): boolean {
  return USER.test(text);
}

/** Splits a user that passes {@link isUser}; null: the user's own group. */
export function userParts(text: string): { user: string; group: string | null } {
  const [user = '', group = null] = text.split(':');
  return { user, group };
}
