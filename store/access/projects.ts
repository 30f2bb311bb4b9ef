import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { instant, optional } from '../../model/fields.ts';
import { DEFAULT_PROJECT, isProjectId, type Project } from '../../model/project.ts';
import { NO_LIMITS, type ProjectLimits, projectLimits } from '../../model/project-limits.ts';
import { TtlCache } from '../mongo/cache-lifetime.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';

/** Stored form: fields that were never set are absent. */
const storedProject = z.object({
  id: z.string(),
  sources: z.array(z.string()).nullable(),
  limits: optional(projectLimits.partial()),
  createdAt: instant,
  deletedAt: instant.nullable(),
});
type StoredProject = z.infer<typeof storedProject>;
/** Fields to change; omitted ones stay, also of the limits. */
type Changes = Partial<Pick<Project, 'sources'>> & { limits?: Partial<ProjectLimits> };

/** Fields that the embedded store leaves out where `$setOnInsert` sets null. */
const NULL_FIELDS = { sources: null, deletedAt: null };

/** Default project until it is changed: it may use every source. */
const DEFAULT: Project = {
  id: DEFAULT_PROJECT,
  sources: null,
  limits: NO_LIMITS,
  createdAt: new Date(0).toISOString(),
  deletedAt: null,
};

/** Projects, by id. They are few and every request needs them, so each process caches all. */
export class Projects extends repositoryOf({
  collection: 'projects',
  noun: 'a project',
  isId: isProjectId,
  model: storedProject,
}) {
  readonly #known = new TtlCache(async () => {
    return new Map([DEFAULT, ...(await this.find({})).map(projectOf)].map((project) => [project.id, project]));
  });

  /** Returns all projects that ever existed, by id, from the cache: another process's latest change may be missing. */
  known(): Promise<ReadonlyMap<string, Project>> {
    return this.#known.get();
  }

  /** Returns a project from the cache; null when unknown or deleted. */
  async lately(id: string): Promise<Project | null> {
    const known = (await this.known()).get(id) ?? (await this.get(id)); // another process may just have created it
    return known?.deletedAt === null ? known : null;
  }

  /** Reads a project; null when unknown or deleted. */
  async get(id: string): Promise<Project | null> {
    this.#known.forget();
    const project = (await this.known()).get(id);
    return project && project.deletedAt === null ? project : null;
  }

  /** @throws MayflyError project_exists, also when that id was deleted */
  async create(id: string, wish: Changes = {}): Promise<Project> {
    const { sources = [], limits = {} } = wish;
    const fields = { sources, limits, createdAt: new Date().toISOString(), deletedAt: null };
    const _id = this.checked(id);
    try {
      if (id !== DEFAULT_PROJECT && (await this.insert({ ...fields, _id }))) return projectOf({ ...fields, id });
      throw new MayflyError('project_exists', `There is, or was, a project ${id}.`);
    } finally {
      this.#known.forget();
    }
  }

  /** Changes a project. Returns null when unknown or deleted. */
  async change(id: string, changes: Changes): Promise<Project | null> {
    this.checked(id);
    const first = id === DEFAULT_PROJECT;
    const { id: _id, sources, limits: _none, deletedAt: _living, ...fields } = DEFAULT;
    const { limits = {}, ...rest } = changes;
    const named = Object.entries(limits).map(([name, limit]) => [`limits.${name}`, limit] as const);
    const set = { ...rest, ...Object.fromEntries(named) };
    const found = await this.model
      .findOneAndUpdate(
        { _id: id, deletedAt: null },
        { $set: set, ...(first && { $setOnInsert: { ...fields, ...(!('sources' in rest) && { sources }) } }) },
        { upsert: first, returnDocument: 'after', runValidators: true },
      )
      .lean<DocumentOf<StoredProject>>();
    this.#known.forget();
    return found && projectOf(this.recordOf(found));
  }

  /** Sets or removes the deletion mark. Returns null for an unknown project and for the default one, which stays. */
  async markDeleted(id: string, deletedAt: string | null): Promise<Project | null> {
    this.checked(id);
    if (id === DEFAULT_PROJECT) return null;
    const found = await this.setAndRead({ _id: id }, { deletedAt });
    this.#known.forget();
    return found && projectOf(found);
  }
}

function projectOf({ limits, ...rest }: StoredProject): Project {
  return { ...NULL_FIELDS, ...rest, limits: { ...NO_LIMITS, ...(limits as Partial<ProjectLimits>) } };
}
