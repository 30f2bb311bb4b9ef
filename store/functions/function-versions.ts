import { z } from 'zod';
import { optional } from '../../model/fields.ts';
import { type FunctionVersion, functionVersion } from '../../model/functions/function.ts';
import { deriveSetupKey, toSetupInputs } from '../../model/functions/setup/setup.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import type { FunctionRef } from './functions.ts';

/** Deployed versions of functions, `_id` = `<project>/<function>/<version, seven digits>`; immutable. */
export class FunctionVersions extends repositoryOf({
  collection: 'functionVersions',
  noun: 'a version',
  model: functionVersion,
  /** `files`: `<project>/<digest>`; null without files. `setup`: `<project>/<key>` of its setup; absent without one. */
  internal: { files: z.string().nullable(), setup: optional(z.string()) },
}) {
  /** @returns false when that number exists */
  async create(version: FunctionVersion): Promise<boolean> {
    const { project, function: name, spec } = version;
    const files = spec.filesDigest === null ? null : filesOf(project, spec.filesDigest);
    const setupInputs = toSetupInputs(spec);
    const setup = setupInputs && { setup: `${project}/${deriveSetupKey(setupInputs)}` };
    return this.insert({ ...version, _id: idOf({ project, name }, version.version), files, ...setup });
  }

  get(ref: FunctionRef, version: number): Promise<FunctionVersion | null> {
    return this.findById(idOf(ref, version));
  }

  /** Lists versions, newest first. @param unreadable collects the unreadable ones */
  list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<FunctionVersion[]> {
    return this.find(idPrefixFilter(`${project}/${name}`), { sort: { _id: -1 }, unreadable });
  }

  /** Reports whether any version of the project has these files. */
  async haveFiles(project: string, digest: string): Promise<boolean> {
    const selection = { only: { _id: 1 }, limit: 1 } as const;
    return (await this.documents({ files: filesOf(project, digest) }, selection)).length > 0;
  }

  /** Returns the functions with a version that has this setup. */
  async withSetup(project: string, key: string): Promise<FunctionRef[]> {
    const found = await this.documents({ setup: `${project}/${key}` }, { only: { function: 1 } });
    return [...new Set(found.map((each) => each.function))].map((name) => ({ project, name }));
  }

  async remove(ref: FunctionRef, version: number): Promise<void> {
    await this.deleteOne({ _id: idOf(ref, version) });
  }
}

function idOf({ project, name }: FunctionRef, version: number): string {
  return `${project}/${name}/${String(version).padStart(7, '0')}`;
}

/** Returns the version number in a document's id. */
export function versionOfId(id: string): number {
  return Number(id.split('/').at(-1));
}

function filesOf(project: string, digest: string): string {
  return `${project}/${digest}`;
}
