import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { type HostRef, includesHost } from '../../model/host.ts';
import type { ImageRecord } from '../../model/image/image.ts';
import { type Build, type BuildStage, expandBuild, getRootSource, listSources } from '../../model/image/steps.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { type Origin, placeableOrigin } from '../sandboxes/placement.ts';

/** Candidate hosts of a build: stages copy files on one host. A single-stage build is unrestricted. */
class BuildHosts {
  #left: readonly HostRef[];

  /** @param sources origins of the stages @throws MayflyError no_host */
  constructor(
    sources: readonly Origin[],
    private readonly stages: number,
  ) {
    const [first, ...others] = sources;
    this.#left = (first?.hosts ?? []).filter((host) => others.every(({ hosts }) => includesHost(hosts, host)));
    if (this.#left.length > 0) return;
    throw new MayflyError('no_host', 'No host has the sources of all stages, which are built on one.');
  }

  /** Restricts the build to the hosts of an origin. @returns false, without a change, when no host would be left */
  take({ hosts }: Origin): boolean {
    if (this.stages === 1) return true;
    const left = this.#left.filter((host) => includesHost(hosts, host));
    if (left.length === 0) return false;
    this.#left = left;
    return true;
  }

  /** Returns the origin restricted to the one host. */
  only(origin: Origin): Origin {
    return this.stages === 1 ? origin : { ...origin, hosts: this.#left.slice(0, 1) };
  }
}

/** Start of a stage: its source, the last cached step, or the end of another stage. */
export interface StageStart {
  place: number;
  /** First step to run. */
  first: number;
  /** Origin of its sandbox; with a parent, the origin of the parent's source. */
  origin: Origin;
  parent: number | null;
}

/** Start of a build. */
export interface BuildStart {
  build: Build;
  /** See {@link ImageRecord.content}. */
  content: string;
  contents: { source: string; content: string }[];
  /** Stages to run, in order; none when every step is cached. */
  stages: StageStart[];
  /** Snapshot of the last step, when every step is cached. */
  snapshotId: string | null;
  /** Origin with the largest size among the sources. */
  origin: Origin;
}

type BuildRequest = Pick<ImageRecord, 'id' | 'project' | 'request'>;

/** @throws MayflyError dockerfile_unsupported, no_host, and what {@link placeableOrigin} throws */
export async function resolveBuildStart(
  store: ProjectStore,
  { id, project, request }: BuildRequest,
): Promise<BuildStart> {
  const { network } = request;
  const plain = expandBuild(request, { project, content: '' });
  const origins = new Map<string, Origin>();
  for (const source of listSources(plain)) origins.set(source, await sourceOrigin(store, source, network));
  const contents: BuildStart['contents'] = [];
  for (const [source, { content }] of origins) {
    contents.push({ source, content: content ?? (await contentOf(store, source)) ?? id });
  }
  const content = contents.find(({ source }) => source === plain.source)?.content ?? id;
  const build = expandBuild(request, { project, content, contents });
  const hosts = new BuildHosts([...origins.values()], build.stages.length);
  const known = new StepCache(store, build, network, hosts);
  const snapshotId = await known.snapshotOf(build.steps.length - 1);
  const largest = [...origins.values()].reduce((a, b) => (a.size.memoryMib >= b.size.memoryMib ? a : b));
  const all = { build, content, contents, snapshotId, origin: largest };
  if (snapshotId !== null) return { ...all, stages: [] };
  const stages = await neededStages(build, known, origins);
  return { ...all, stages: stages.map((stage) => ({ ...stage, origin: hosts.only(stage.origin) })) };
}

/** Returns the target, and the stages that its uncached steps copy from or begin at. */
async function neededStages(build: Build, known: StepCache, origins: Map<string, Origin>): Promise<StageStart[]> {
  const found: StageStart[] = [];
  const needed = new Set([build.stages.length - 1]);
  for (let place = build.stages.length - 1; place >= 0; place--) {
    const stage = build.stages[place];
    const source = origins.get(getRootSource(build.stages, place));
    if (!stage || !source || !needed.has(place)) continue;
    const beginning = await resolveStageStart(build, stage, known);
    const { first, parent = null, origin = source } = beginning;
    if (parent !== null) needed.add(parent);
    for (const { copied } of build.steps.slice(first, stage.end)) if (copied) needed.add(copied.stage);
    found.unshift({ place, first, parent, origin });
  }
  return found;
}

/** Start of a stage; without an origin, its source. */
type Found = Pick<StageStart, 'first'> & Partial<StageStart>;

async function resolveStageStart(build: Build, stage: BuildStage, known: StepCache): Promise<Found> {
  for (let index = stage.end - 1; index >= stage.first; index--) {
    const origin = await known.originOf(index);
    if (origin) return { first: index + 1, origin };
  }
  return {
    first: stage.first,
    ...('stage' in stage.origin && (await resolveStageEnd(build, stage.origin.stage, known))),
  };
}

async function resolveStageEnd(build: Build, place: number, known: StepCache): Promise<Partial<StageStart>> {
  const stage = build.stages[place];
  if (!stage) throw new MayflyError('internal', 'A stage begins nowhere.');
  if (stage.first === stage.end)
    return 'stage' in stage.origin ? resolveStageEnd(build, stage.origin.stage, known) : {};
  const origin = await known.originOf(stage.end - 1);
  return origin ? { origin } : { parent: place };
}

/** Cache of the project's finished steps whose snapshots still exist. */
class StepCache {
  constructor(
    private readonly store: ProjectStore,
    private readonly build: Build,
    private readonly network: ImageRecord['request']['network'],
    private readonly hosts: BuildHosts,
  ) {}

  async snapshotOf(index: number): Promise<string | null> {
    return (await this.originOf(index))?.snapshotId ?? null;
  }

  /** Returns the origin after a step; null when it is not cached, its host is away, or no common host is left. */
  async originOf(index: number): Promise<Origin | null> {
    const step = this.build.steps[index];
    const layer = step && (await this.store.imageLayers.get(step.key));
    const snapshot = layer && (await this.store.snapshots.get(layer.snapshotId));
    if (snapshot?.state !== 'ready') return null;
    try {
      const origin = await placeableOrigin(this.store, { snapshotId: snapshot.id, network: this.network });
      return this.hosts.take(origin) ? origin : null;
    } catch (error) {
      if (isMayflyError(error, 'no_host')) return null;
      throw error;
    }
  }
}

/** @throws MayflyError source_running */
async function sourceOrigin(
  store: ProjectStore,
  source: string,
  network: ImageRecord['request']['network'],
): Promise<Origin> {
  const origin = await placeableOrigin(store, { source, network });
  if (origin.captureId === null) return origin;
  throw new MayflyError('source_running', `${source} runs: an image is built of what stays as it is.`);
}

/** Returns the content id of a source; null until a host has read it. */
async function contentOf(store: ProjectStore, name: string): Promise<string | null> {
  const all = (await store.hosts.list()).flatMap(({ sources }) => sources.filter((source) => source.name === name));
  return all.map(({ content }) => content ?? null).find((content) => content !== null) ?? null;
}
