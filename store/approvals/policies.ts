import { z } from 'zod';
import { type Policy, policyRecord } from '../../model/approvals/policy.ts';
import { MayflyError } from '../../model/errors.ts';
import { encrypted } from '../../model/fields.ts';
import { repositoryOf } from '../repository/repository.ts';

/** `rules` are those of a {@link Policy} only once they were read as such. */
export type StoredPolicy = Omit<Policy, 'rules'> & { rules: unknown };

/** The embedded store orders what is read by an index as text. */
const VERSION_DIGITS = 9;

/** The policies of projects, `_id` = `<project>/<version>`: no version is ever changed. */
export class Policies extends repositoryOf({
  collection: 'policies',
  noun: 'a policy',
  model: policyRecord.extend({ rules: encrypted(z.unknown()) }),
}) {
  /** That of a project now; null when it never had one. One that was changed by somebody else has no rules. */
  async current(project: string): Promise<StoredPolicy | null> {
    const [found] = await this.documents({ project }, { sort: { _id: -1 }, limit: 1 });
    return found ? this.recordOf(this.encryption.openedIfReadable(found) ?? { ...found, rules: null }) : null;
  }

  /** Makes it that of its project. @throws MayflyError policy_changed when somebody has made that version already */
  async add(policy: Policy): Promise<void> {
    const _id = `${policy.project}/${String(policy.version).padStart(VERSION_DIGITS, '0')}`;
    if (await this.insert({ ...policy, _id })) return;
    throw new MayflyError('policy_changed', `Somebody else has made version ${policy.version} meanwhile.`);
  }
}
