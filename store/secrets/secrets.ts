import { MayflyError } from '../../model/errors.ts';
import { isSecretName, type SecretRecord, secretRecord } from '../../model/secrets/secret.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';

export type SecretRef = Pick<SecretRecord, 'project' | 'name'>;

/** Secrets of projects without their values, `_id` = `<project>/<name>`. A deleted one keeps its version number. */
export class Secrets extends repositoryOf({ collection: 'secrets', noun: 'a secret', model: secretRecord }) {
  /** Also returns a deleted secret, whose `valueId` is null. @throws MayflyError invalid_id */
  async get(ref: SecretRef): Promise<SecretRecord | null> {
    return this.findById(idOf(ref));
  }

  /** Lists a project's secrets by name, without deleted ones. */
  async list(project: string): Promise<SecretRecord[]> {
    return (await this.find(idPrefixFilter(project), { sort: { _id: 1 } })).filter(({ valueId }) => valueId !== null);
  }

  /**
   * Replaces a secret. @param before record on which it is based; null for none @returns false when it has changed
   * since
   */
  async replace(record: SecretRecord, before: Pick<SecretRecord, 'version' | 'valueId'> | null): Promise<boolean> {
    const _id = idOf(record);
    if (!before) return this.insert({ ...record, _id });
    return this.set({ _id, version: before.version, valueId: before.valueId }, record);
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, name }: SecretRef): string {
  if (typeof name === 'string' && isSecretName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a secret.');
}
