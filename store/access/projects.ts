import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { DEFAULT_PROJECT, isProjectId, type Project } from '../../model/project.ts';
import { NO_LIMITS, type ProjectLimits } from '../../model/project-limits.ts';
import { CACHE_LIFETIME_MS } from '../mongo/cache-lifetime.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { NAME, NULLABLE_NUMBER, NULLABLE_TEXT, strictPart, strictSchema } from '../mongo/schema.ts';

type ProjectDocument = Pick<Project, 'createdAt'> &
  Partial<Pick<Project, 'sources' | 'deletedAt'>> & { _id: string; limits?: Partial<ProjectLimits> };
/** What is not named stays, also of the limits. */
type Changes = Partial<Pick<Project, 'sources'>> & { limits?: Partial<ProjectLimits> };

/** As it is until it is changed: all that there is may be used. */
const FIRST: Project = {
  id: DEFAULT_PROJECT,
  sources: null,
  limits: NO_LIMITS,
  createdAt: new Date(0).toISOString(),
  deletedAt: null,
};

/** The projects, by id. Few, and every request needs them; each process reads all of them at once. */
export class Projects {
  readonly #model: Model<ProjectDocument>;
  #known: { at: number; all: Promise<ReadonlyMap<string, Project>> } | null = null;

  constructor(connection: Connection) {
    const schema = strictSchema<ProjectDocument>({
      _id: NAME,
      sources: { type: [String], default: null },
      limits: { type: limitsPart(), default: undefined },
      createdAt: NAME,
      deletedAt: NULLABLE_TEXT,
    });
    this.#model = connection.model<ProjectDocument>('Project', schema, 'projects');
  }

  /** All that ever were, by id; what another process has just changed may be missing. */
  known(): Promise<ReadonlyMap<string, Project>> {
    if (this.#known && performance.now() - this.#known.at < CACHE_LIFETIME_MS) return this.#known.all;
    const known = { at: performance.now(), all: this.#read() };
    this.#known = known;
    known.all.catch(() => this.#forget());
    return known.all;
  }

  /** As it was a moment ago; null when there is none, or it was deleted. */
  async lately(id: string): Promise<Project | null> {
    const known = (await this.known()).get(id) ?? (await this.get(id)); // another process may just have made it
    return known?.deletedAt === null ? known : null;
  }

  /** As it is now; null when there is none, or it was deleted. */
  async get(id: string): Promise<Project | null> {
    this.#forget();
    const project = (await this.known()).get(id);
    return project && project.deletedAt === null ? project : null;
  }

  /** @throws MayflyError project_exists, also when one of that id was deleted */
  async create(id: string, wish: Changes = {}): Promise<Project> {
    checkId(id);
    const { sources = [], limits = {} } = wish;
    const document: ProjectDocument = {
      _id: id,
      sources,
      limits,
      createdAt: new Date().toISOString(),
      deletedAt: null,
    };
    try {
      if (id === DEFAULT_PROJECT) throw taken(id);
      await reaching('record a project', () => this.#model.create(document));
      return recordOf(document);
    } catch (error) {
      throw isDuplicateKey(error) ? taken(id) : error;
    } finally {
      this.#forget();
    }
  }

  /** Null when there is none. */
  async change(id: string, changes: Changes): Promise<Project | null> {
    checkId(id);
    const first = id === DEFAULT_PROJECT;
    const { id: _id, sources, limits: _none, deletedAt: _living, ...fields } = FIRST;
    const { limits = {}, ...rest } = changes;
    const named = Object.entries(limits).map(([name, limit]) => [`limits.${name}`, limit] as const);
    const set = { ...rest, ...Object.fromEntries(named) };
    const found = await reaching('change a project', () =>
      this.#model
        .findOneAndUpdate(
          { _id: id, deletedAt: null },
          { $set: set, ...(first && { $setOnInsert: { ...fields, ...(!('sources' in rest) && { sources }) } }) },
          { upsert: first, returnDocument: 'after', runValidators: true },
        )
        .lean<ProjectDocument>(),
    );
    this.#forget();
    return found && recordOf(found);
  }

  /** Marks it deleted, or takes the mark away. Null when there is none, and for the first, which stays. */
  async markDeleted(id: string, deletedAt: string | null): Promise<Project | null> {
    checkId(id);
    if (id === DEFAULT_PROJECT) return null;
    const found = await reaching('delete a project', () =>
      this.#model
        .findOneAndUpdate({ _id: id }, { $set: { deletedAt } }, { returnDocument: 'after' })
        .lean<ProjectDocument>(),
    );
    this.#forget();
    return found && recordOf(found);
  }

  #forget(): void {
    this.#known = null;
  }

  async #read(): Promise<ReadonlyMap<string, Project>> {
    const found = await reaching('read the projects', () => this.#model.find().lean<ProjectDocument[]>());
    return new Map([FIRST, ...found.map(recordOf)].map((project) => [project.id, project]));
  }
}

/** The embedded store leaves the nulls of `$setOnInsert` out. */
function recordOf({ _id, sources = null, limits, createdAt, deletedAt = null }: ProjectDocument): Project {
  return { id: _id, sources, limits: { ...NO_LIMITS, ...limits }, createdAt, deletedAt };
}

function limitsPart() {
  return strictPart(Object.fromEntries(Object.keys(NO_LIMITS).map((name) => [name, NULLABLE_NUMBER])));
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isProjectId(id)) throw new MayflyError('invalid_id', 'That is not a project id.');
}

function taken(id: string): MayflyError {
  return new MayflyError('project_exists', `There is, or was, a project ${id}.`);
}
