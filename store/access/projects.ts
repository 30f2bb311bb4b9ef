import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { DEFAULT_PROJECT, isProjectId, type Project } from '../../model/project.ts';
import { NO_LIMITS, type ProjectLimits } from '../../model/project-limits.ts';
import { CACHE_LIFETIME_MS } from '../mongo/cache-lifetime.ts';
import { NAME, NULLABLE_NUMBER, NULLABLE_TEXT, strictPart } from '../mongo/schema.ts';
import { Repository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

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
export class Projects extends Repository<Project, ProjectDocument> {
  #known: { at: number; all: Promise<ReadonlyMap<string, Project>> } | null = null;

  constructor(connection: Connection, sealing: Sealing) {
    const limits = { type: limitsPart(), default: undefined };
    const sources = { type: [String], default: null };
    const fields = { sources, limits, createdAt: NAME, deletedAt: NULLABLE_TEXT };
    super(connection, sealing, { collection: 'projects', noun: 'a project', fields, isId: isProjectId });
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
    const { sources = [], limits = {} } = wish;
    const document: ProjectDocument = {
      _id: this.checked(id),
      sources,
      limits,
      createdAt: new Date().toISOString(),
      deletedAt: null,
    };
    try {
      if (id !== DEFAULT_PROJECT && (await this.insert(document))) return this.recordOf(document);
      throw new MayflyError('project_exists', `There is, or was, a project ${id}.`);
    } finally {
      this.#forget();
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
      .lean<ProjectDocument>();
    this.#forget();
    return found && this.recordOf(found);
  }

  /** Marks it deleted, or takes the mark away. Null when there is none, and for the first, which stays. */
  async markDeleted(id: string, deletedAt: string | null): Promise<Project | null> {
    this.checked(id);
    if (id === DEFAULT_PROJECT) return null;
    const found = await this.setAndRead({ _id: id }, { deletedAt });
    this.#forget();
    return found;
  }

  #forget(): void {
    this.#known = null;
  }

  async #read(): Promise<ReadonlyMap<string, Project>> {
    return new Map([FIRST, ...(await this.find({}))].map((project) => [project.id, project]));
  }

  /** The embedded store leaves the nulls of `$setOnInsert` out. */
  protected override readonly recordOf = (document: ProjectDocument): Project => {
    const { _id: id, sources = null, limits, createdAt, deletedAt = null } = document;
    return { id, sources, limits: { ...NO_LIMITS, ...limits }, createdAt, deletedAt };
  };
}

function limitsPart() {
  return strictPart(Object.fromEntries(Object.keys(NO_LIMITS).map((name) => [name, NULLABLE_NUMBER])));
}
