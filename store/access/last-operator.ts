import { randomUUID } from 'node:crypto';
import type { Model } from 'mongoose';
import { z } from 'zod';
import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { optional } from '../../model/fields.ts';
import type { DocumentOf } from '../repository/repository.ts';

/** Fields of API keys that only the store knows. */
export const keyInternals = {
  endsWithRun: optional(z.boolean()),
  revocation: optional(z.string()).describe('The one that has begun; the key is good until it ends'),
  secretHash: z.string().describe("Hex SHA-256 of the secret's random part"),
};
export type ApiKeyDocument = DocumentOf<ApiKey> & z.infer<z.ZodObject<typeof keyInternals>>;

type Keys = Model<ApiKeyDocument>;

/** Age from which an unfinished revocation counts as interrupted: its process was killed. Milliseconds. */
const STALE_MARK_MS = 60_000;

/**
 * Revokes an operator key, unless it is the last permanent one. Without transactions, it marks its key, then searches
 * for an unmarked one, then revokes its own, each a write to one document. Concurrent revocations see each other's
 * marks, so the key that was marked last stays. Any caller may remove a stale mark, without which its owner cannot
 * finish.
 * @throws MayflyError last_admin_key
 */
export async function endUnlessLast(keys: Keys, id: string): Promise<void> {
  if (await markAndRevoke(keys, id)) return;
  if ((await removeStaleMarks(keys)) && (await markAndRevoke(keys, id))) return;
  throw new MayflyError(
    'last_admin_key',
    `Without the key ${id} no operator key would stay, or another one is being revoked at this moment.`,
  );
}

/** Marks a key, then revokes it if another stays. @returns false when it is not revoked */
async function markAndRevoke(keys: Keys, id: string): Promise<boolean> {
  const revocation = `${new Date().toISOString()}/${randomUUID()}`;
  if (!(await change(keys, { _id: id, revokedAt: null, revocation: null }, { $set: { revocation } }))) {
    const present = await keys.findById(id).lean<ApiKeyDocument>();
    return present?.revokedAt !== null;
  }
  const own = { _id: id, revokedAt: null, revocation };
  const others = (await livingOperators(keys)).filter((key) => key._id !== id && !key.endsWithRun && !key.revocation);
  if (others.length > 0) {
    return change(keys, own, { $set: { revokedAt: new Date().toISOString() }, $unset: { revocation: 1 } });
  }
  await change(keys, own, { $unset: { revocation: 1 } });
  return false;
}

/** Removes stale marks. @returns false when there were none */
async function removeStaleMarks(keys: Keys): Promise<boolean> {
  let taken = false;
  for (const { _id, revocation = '' } of await livingOperators(keys)) {
    const [since = ''] = revocation.split('/');
    if (revocation === '' || Date.now() - Date.parse(since) < STALE_MARK_MS) continue;
    taken = (await change(keys, { _id, revokedAt: null, revocation }, { $unset: { revocation: 1 } })) || taken;
  }
  return taken;
}

async function livingOperators(keys: Keys): Promise<ApiKeyDocument[]> {
  const found = await keys.find({ revokedAt: null }).lean<ApiKeyDocument[]>();
  return found.filter(({ scopes }) => scopes.includes('operator'));
}

/** @returns false when no key matched */
async function change(
  keys: Keys,
  which: { _id: string; revokedAt: null; revocation: string | null },
  update: { $set?: Partial<ApiKeyDocument>; $unset?: { revocation: 1 } },
): Promise<boolean> {
  return (await keys.updateOne(which, update)).matchedCount > 0;
}
