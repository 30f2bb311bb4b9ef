/**
 * What an API key may do; the closed list. `admin`: all of it in the key's own project, its keys too. `operator`: all of it
 * in every project, and what is the installation's.
 */
export const SCOPES = [
  'sandboxes:read',
  'sandboxes:write',
  'sources:look',
  'approvals:decide',
  'admin',
  'operator',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether a key with `held` scopes may do what needs `wanted`. Writing does not include reading. */
export function grants(held: readonly Scope[], wanted: Scope): boolean {
  if (held.includes(wanted) || held.includes('operator')) return true;
  return wanted !== 'operator' && held.includes('admin');
}
