import type { Store } from '../../store/connect.ts';

/** Lists the kinds of the audit entries of a subject, oldest first. */
export async function listAuditKinds({ store }: { store: Pick<Store, 'audit'> }, id: string): Promise<string[]> {
  const entries = await store.audit.entries(id, { limit: 200 });
  return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}
