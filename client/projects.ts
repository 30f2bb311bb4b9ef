import type { Project } from '../model/project.ts';
import type { ProjectLimits, ProjectUse } from '../model/project-limits.ts';
import type { Page } from './http/options.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** What operators set of a project; what is not named stays. */
export type ProjectSettings = Partial<Pick<Project, 'sources'>> & { limits?: Partial<ProjectLimits> };

/** What a project has now of what it may have. */
export interface ProjectUsage extends ProjectUse {
  project: string;
  /** What its sandboxes and snapshots take of disks, bytes. */
  diskBytes: number;
  limits: ProjectLimits;
}

const ALL = '/v1/projects';

/** Tenants, for operators. Throws as {@link MayflyClient} does. */
export class Projects {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(request: ProjectSettings & { id: string }, options: PostOptions = {}): Promise<Project> {
    return this.#transport.json({ method: 'POST', path: ALL, body: request }, options);
  }

  /** All, also deleted ones. */
  list(options: CallOptions = {}): Promise<Page<Project>> {
    return this.#transport.json({ method: 'GET', path: ALL }, options);
  }

  /** That of one's own key too. */
  get(id: string, options: CallOptions = {}): Promise<Project> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Of one's own too. */
  usage(id: string, options: CallOptions = {}): Promise<ProjectUsage> {
    return this.#transport.json({ method: 'GET', path: `${pathOf(id)}/usage` }, options);
  }

  change(id: string, settings: ProjectSettings, options: CallOptions = {}): Promise<Project> {
    return this.#transport.json({ method: 'PATCH', path: pathOf(id), body: settings }, options);
  }

  /** Refused while something of it is left; revokes its keys. */
  delete(id: string, options: CallOptions = {}): Promise<Project> {
    return this.#transport.json({ method: 'DELETE', path: pathOf(id) }, options);
  }
}

function pathOf(id: string): string {
  return `${ALL}/${encodeURIComponent(id)}`;
}
