import type { Connection, Model } from 'mongoose';
import type { FunctionVersion } from '../../model/functions/function.ts';
import { setupKeyOf, setupWishOf } from '../../model/functions/setup/setup.ts';
import { below } from '../mongo/below.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictSchema, TEXT } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { FunctionRef } from './functions.ts';

type VersionDocument = FunctionVersion & {
  /** `<project>/<function>/<version, seven digits>` */
  _id: string;
  /** `<project>/<digest>`; null: it has no files. */
  files: string | null;
  /** `<project>/<key>` of its setup; it has none: there is none. */
  setup?: string;
};

/** What was deployed of each function; nothing of a version changes. */
export class FunctionVersions {
  readonly #model: Model<VersionDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('functionVersions');
    const schema = strictSchema<VersionDocument>({
      _id: NAME,
      project: NAME,
      function: NAME,
      version: NUMBER,
      digest: NAME,
      files: NULLABLE_TEXT,
      setup: TEXT,
      spec: SEALED,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
    });
    this.#model = connection.model<VersionDocument>('FunctionVersion', schema, 'functionVersions');
  }

  /** @returns false: there is one of that number */
  async create(version: FunctionVersion): Promise<boolean> {
    const { project, function: name, spec } = version;
    const _id = idOf({ project, name }, version.version);
    const files = spec.filesDigest === null ? null : filesOf(project, spec.filesDigest);
    const wish = setupWishOf(spec);
    const setup = wish && { setup: `${project}/${setupKeyOf(wish)}` };
    try {
      const document = { ...this.#fields.sealed(_id, version), _id, files, ...setup };
      await reaching('record a version', () => this.#model.create(document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(ref: FunctionRef, version: number): Promise<FunctionVersion | null> {
    const _id = idOf(ref, version);
    const found = await reaching('read a version', () => this.#model.findById(_id).lean<VersionDocument>());
    return found && this.#record(found);
  }

  /** The newest first. @param unreadable takes those that cannot be read */
  async list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<FunctionVersion[]> {
    const found = await reaching('list versions', () =>
      this.#model
        .find(below(`${project}/${name}`))
        .sort({ _id: -1 })
        .lean<VersionDocument[]>(),
    );
    return this.#fields.records(found, recordOf, unreadable);
  }

  /** Whether any version of the project has these files. */
  async haveFiles(project: string, digest: string): Promise<boolean> {
    const files = filesOf(project, digest);
    return (await reaching('look for files', () => this.#model.findOne({ files }, { _id: 1 }).lean())) !== null;
  }

  /** The functions of which a version has this setup. */
  async withSetup(project: string, key: string): Promise<FunctionRef[]> {
    const found = await reaching('look for versions with a setup', () =>
      this.#model.find({ setup: `${project}/${key}` }, { function: 1 }).lean<Pick<VersionDocument, 'function'>[]>(),
    );
    return [...new Set(found.map((each) => each.function))].map((name) => ({ project, name }));
  }

  async remove(ref: FunctionRef, version: number): Promise<void> {
    await reaching('remove a version', () => this.#model.deleteOne({ _id: idOf(ref, version) }));
  }

  #record(document: VersionDocument): FunctionVersion {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, files: _files, setup: _setup, ...version }: VersionDocument): FunctionVersion {
  return version;
}

function idOf({ project, name }: FunctionRef, version: number): string {
  return `${project}/${name}/${String(version).padStart(7, '0')}`;
}

/** Number of the version that a document is of. */
export function versionOfId(id: string): number {
  return Number(id.split('/').at(-1));
}

function filesOf(project: string, digest: string): string {
  return `${project}/${digest}`;
}
