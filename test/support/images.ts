import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { BuildImage, Image } from '../../clients/typescript/http/openapi.ts';
import { deriveSourceId } from '../../model/ids.ts';
import { isImageFinal } from '../../model/image/image.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';
import type { MayflyCase } from './mayfly-case.ts';
import type { TestOperations } from './operations.ts';
import { HANGS_AFTER_MS } from './test-timeouts.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** Builds of one test; removes their sources and snapshots. */
export class TestImages {
  readonly #names = new Set<string>();
  readonly #builders = new Set<string>();

  constructor(
    private readonly mayfly: MayflyCase,
    private readonly operations: TestOperations,
    private readonly door: TestDoor,
  ) {}

  name(): string {
    const name = `built-${randomBytes(4).toString('hex')}`;
    this.#names.add(name);
    return name;
  }

  begin(dockerfile: string, wish: Partial<BuildImage> = {}): Promise<Image> {
    return this.beginWhole(`FROM golden-debian12\n${dockerfile}`, wish);
  }

  /** Registers a sandbox of a build. */
  own(id: string): void {
    if (!this.#builders.has(id)) this.mayfly.own(id);
    this.#builders.add(id);
  }

  /** Starts a build of a Dockerfile with its own FROM. */
  async beginWhole(dockerfile: string, wish: Partial<BuildImage> = {}): Promise<Image> {
    const body = { name: this.name(), dockerfile, ...wish };
    const response = await this.door.call('POST', '/v1/images', body);
    const image = (await response.json()) as Image;
    expect({ status: response.status, image }).toMatchObject({ status: 202 });
    const own = [...image.steps, ...(image.ready ? [image.ready] : [])];
    for (const id of [image.builderId, ...own.flatMap(({ command }) => command?.sandboxId ?? [])]) this.own(id);
    return image;
  }

  async get(id: string): Promise<Image> {
    return (await (await this.door.call('GET', `/v1/images/${id}`)).json()) as Image;
  }

  async until(id: string, wish: (image: Image) => boolean): Promise<Image> {
    const image = await eventually(
      () => this.get(id),
      (seen) => wish(seen) || isImageFinal(seen.state),
    );
    if (!wish(image)) throw new Error(`never came: ${JSON.stringify(image)}`);
    return image;
  }

  over({ id }: Image): Promise<Image> {
    return this.until(id, ({ state }) => isImageFinal(state));
  }

  async whole(dockerfile: string, wish: Partial<BuildImage> = {}): Promise<Image> {
    return this.over(await this.beginWhole(dockerfile, wish));
  }

  async build(dockerfile: string, wish: Partial<BuildImage> = {}): Promise<Image> {
    return this.over(await this.begin(dockerfile, wish));
  }

  async cancel({ id }: Image): Promise<void> {
    expect((await this.door.call('POST', `/v1/images/${id}/cancel`)).status).toBe(202);
  }

  /** Returns the kinds of a build's audit entries, in order, each with its API key. */
  async audit({ id }: Pick<Image, 'id'>): Promise<string[]> {
    const entries = await this.mayfly.store.audit.entries(id, { limit: 100 });
    return entries.map(({ body }) => {
      const { kind, actor } = JSON.parse(body) as Pick<AuditEvent, 'kind' | 'actor'>;
      return `${kind} ${actor?.apiKeyId}`;
    });
  }

  /** Returns the sources on the host that this test has made. */
  async sources(): Promise<string[]> {
    const all = (await this.mayfly.store.hosts.list()).flatMap(({ sources }) => sources.map(({ name }) => name));
    return all.filter((name) => this.#names.has(name));
  }

  async clear(): Promise<void> {
    for (const name of this.#names) {
      const sourceId = deriveSourceId('test', name);
      if ((await this.mayfly.store.bakedSources.get(sourceId))?.state !== 'ready') continue;
      await this.mayfly.sagas.sources.delete({ sourceId, ...this.mayfly.hostRef, name, actor });
      await this.mayfly.sagas.sources.bakeEnded({ hostId: 'test', name }, AbortSignal.timeout(HANGS_AFTER_MS));
    }
    for (const builder of this.#builders) {
      const { items } = await this.mayfly.store.snapshots.list({ sandboxId: builder, limit: 100 });
      for (const snapshot of items) if (snapshot.state === 'ready') await this.operations.delete(snapshot);
    }
  }
}
