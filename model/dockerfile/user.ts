const ID = '(?:[a-z_][a-z0-9_-]{0,31}\\$?|\\d{1,9})';
const USER = new RegExp(`^${ID}(?::${ID})?$`, 'i');

/** Whether a text is a name or number of a user, alone or with that of a group: `app`, `1000:1000`. */
export function isUser(text: string): boolean {
  return USER.test(text);
}

/** The parts of what {@link isUser} holds of; null: the user's own group. */
export function userParts(text: string): { user: string; group: string | null } {
  const [user = '', group = null] = text.split(':');
  return { user, group };
}
