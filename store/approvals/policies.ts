import type { Connection, Model } from 'mongoose';
import type { Policy } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NUMBER, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** `rules` are those of a {@link Policy} only once they were read as such. */
export type StoredPolicy = Omit<Policy, 'rules'> & { rules: unknown };
type PolicyDocument = StoredPolicy & { _id: string };

/** The embedded store orders what is read by an index as text. */
const VERSION_DIGITS = 9;

/** The policies of projects, `_id` = `<project>/<version>`: no version is ever changed. */
export class Policies {
  readonly #model: Model<PolicyDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('policies');
    const schema = strictSchema<PolicyDocument>({
      _id: NAME,
      project: NAME,
      version: NUMBER,
      rules: SEALED,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
    });
    this.#model = connection.model<PolicyDocument>('Policy', schema, 'policies');
  }

  /** That of a project now; null when it never had one. One that was changed by somebody else has no rules. */
  async current(project: string): Promise<StoredPolicy | null> {
    const found = await reaching('read a policy', () =>
      this.#model.findOne({ project }).sort({ _id: -1 }).lean<PolicyDocument>(),
    );
    if (!found) return null;
    const { _id, ...policy } = this.#fields.openedIfReadable(found) ?? { ...found, rules: null };
    return policy;
  }

  /** Makes it that of its project. @throws MayflyError policy_changed when somebody has made that version already */
  async add(policy: Policy): Promise<void> {
    const _id = `${policy.project}/${String(policy.version).padStart(VERSION_DIGITS, '0')}`;
    const document = this.#fields.sealed(_id, { _id, ...policy });
    try {
      await reaching('record a policy', () => this.#model.create(document));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      throw new MayflyError('policy_changed', `Somebody else has made version ${policy.version} meanwhile.`);
    }
  }
}
