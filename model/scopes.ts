/**
 * Permissions of an API key; a closed list. `admin` grants everything in the key's own project, including its keys.
 * `operator` grants everything in every project and the installation.
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

/** True when the `held` scopes include the `wanted` one, directly or by `admin` or `operator`. Write excludes read. */
export function grants(held: readonly Scope[], wanted: Scope): boolean {
  if (held.includes(wanted) || held.includes('operator')) return true;
  return wanted !== 'operator' && held.includes('admin');
}
