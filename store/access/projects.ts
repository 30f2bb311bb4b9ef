import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { instant, optional } from '../../model/fields.ts';
import { DEFAULT_PROJECT, isProjectId, type Project } from '../../model/project.ts';
import { NO_LIMITS, type ProjectLimits, projectLimits } from '../../model/project-limits.ts';
import { BriefCache } from '../mongo/cache-lifetime.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';

/** As it is stored: what was never set is absent. */
const storedProject = z.object({
  id: z.string(),
  sources: z.array(z.string()).nullable(),
  limits: optional(projectLimits.partial()),
  createdAt: instant,
  deletedAt: instant.nullable(),
});
type StoredProject = z.infer<typeof storedProject>;
/** What is not named stays, also of the limits. */
type Changes = Partial<Pick<Project, 'sources'>> & { limits?: Partial<ProjectLimits> };

/** Fields that the embedded store leaves out where `$setOnInsert` sets null. */
const LEFT_OUT = { sources: null, deletedAt: null };

/** As it is until it is changed: all that there is may be used. */
const FIRST: Project = {
  id: DEFAULT_PROJECT,
  sources: null,
  limits: NO_LIMITS,
  createdAt: new Date(0).toISOString(),
  deletedAt: null,
};

/** The projects, by id. Few, and every request needs them; each process reads all of them at once. */
export class Projects extends repositoryOf({
  collection: 'projects',
  noun: 'a project',
  isId: isProjectId,
  model: storedProject,
}) {
  readonly #known = new BriefCache(async () => {
    return new Map([FIRST, ...(await this.find({})).map(projectOf)].map((project) => [project.id, project]));
  });

  /** All that ever were, by id; what another process has just changed may be missing. */
  known(): Promise<ReadonlyMap<string, Project>> {
    return this.#known.get();
  }

  /** As it was a moment ago; null when there is none, or it was deleted. */
  async lately(id: string): Promise<Project | null> {
    const known = (await this.known()).get(id) ?? (await this.get(id)); // another process may just have made it
    return known?.deletedAt === null ? known : null;
  }

  /** As it is now; null when there is none, or it was deleted. */
  async get(id: string): Promise<Project | null> {
    this.#known.forget();
    const project = (await this.known()).get(id);
    return project && project.deletedAt === null ? project : null;
  }

  /** @throws MayflyError project_exists, also when one of that id was deleted */
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

  /** Null when there is none. */
  async change(id: string, changes: Changes): Promise<Project | null> {
    this.checked(id);
    const first = id === DEFAULT_PROJECT;
    const { id: _id, sources, limits: _none, deletedAt: _living, ...fields } = FIRST;
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

  /** Marks it deleted, or takes the mark away. Null when there is none, and for the first, which stays. */
  async markDeleted(id: string, deletedAt: string | null): Promise<Project | null> {
    this.checked(id);
    if (id === DEFAULT_PROJECT) return null;
    const found = await this.setAndRead({ _id: id }, { deletedAt });
    this.#known.forget();
    return found && projectOf(found);
  }
}

function projectOf({ limits, ...rest }: StoredProject): Project {
  return { ...LEFT_OUT, ...rest, limits: { ...NO_LIMITS, ...(limits as Partial<ProjectLimits>) } };
}
