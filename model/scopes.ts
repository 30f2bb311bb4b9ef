/** What an API key may do; the closed list. `admin` includes the others. */
export const SCOPES = ['sandboxes:read', 'sandboxes:write', 'sources:look', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether a key with `held` scopes may do what needs `wanted`. Writing does not include reading. */
export function grants(held: readonly Scope[], wanted: Scope): boolean {
  return held.includes(wanted) || held.includes('admin');
}
