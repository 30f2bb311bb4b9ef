import { z } from 'zod';
import { type Policy, policyRecord } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { encryptedField } from '../../model/fields.ts';
import { repositoryOf } from '../repository/repository.ts';

/** Stored policy, whose `rules` are not validated yet. */
export type StoredPolicy = Omit<Policy, 'rules'> & { rules: unknown };

/** Digits of a version, since the embedded store orders indexed values as text. */
const VERSION_DIGITS = 9;

/** Policies of projects, `_id` = `<project>/<version>`; versions are immutable. */
export class Policies extends repositoryOf({
  collection: 'policies',
  noun: 'a policy',
  model: policyRecord.extend({ rules: encryptedField(z.unknown()) }),
}) {
  /** Returns the current policy of a project; null when it never had one. A damaged one has null as `rules`. */
  async current(project: string): Promise<StoredPolicy | null> {
    const [found] = await this.documents({ project }, { sort: { _id: -1 }, limit: 1 });
    return found ? this.recordOf(this.encryption.openedIfReadable(found) ?? { ...found, rules: null }) : null;
  }

  /** Adds the next version. @throws MayflyError policy_changed when that version exists */
  async add(policy: Policy): Promise<void> {
    const _id = `${policy.project}/${String(policy.version).padStart(VERSION_DIGITS, '0')}`;
    if (await this.insert({ ...policy, _id })) return;
    throw new MayflyError('policy_changed', `Somebody else has made version ${policy.version} meanwhile.`);
  }
}
