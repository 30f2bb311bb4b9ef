import { MayflyError } from '../../model/errors.ts';
import type { ImageRecord } from '../../model/image/image.ts';
import { type Build, buildOf } from '../../model/image/steps.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { type Origin, placeableOrigin } from '../resources/placement.ts';

/** Where a build begins: at its source, or behind the last of its steps that was done before, and is there still. */
export interface Beginning {
  build: Build;
  /** See {@link ImageRecord.content}. */
  content: string;
  first: number;
  snapshotId: string | null;
  /** What its sandbox is made of. */
  origin: Origin;
}

/** @throws MayflyError dockerfile_unsupported, and what {@link placeableOrigin} refuses with */
export async function beginningOf(
  store: ProjectStore,
  { id, project, request }: Pick<ImageRecord, 'id' | 'project' | 'request'>,
): Promise<Beginning> {
  const { source } = buildOf(request, { project, content: '' });
  const { network } = request;
  const origin = await placeableOrigin(store, { source, network });
  if (origin.captureId !== null) {
    throw new MayflyError('source_running', `${source} runs: an image is built of what stays as it is.`);
  }
  const content = origin.content ?? (await contentOf(store, source)) ?? id;
  const build = buildOf(request, { project, content });
  for (let index = build.steps.length - 1; index >= 0; index--) {
    const layer = await store.imageLayers.get(build.steps[index]?.key ?? '');
    const snapshot = layer && (await store.snapshots.get(layer.snapshotId));
    if (snapshot?.state !== 'ready') continue;
    const cached = await originOf(store, snapshot.id, network);
    if (cached) return { build, content, first: index + 1, snapshotId: snapshot.id, origin: cached };
  }
  return { build, content, first: 0, snapshotId: null, origin };
}

/** Null when its host is away: then it is built anew elsewhere. */
async function originOf(
  store: ProjectStore,
  snapshotId: string,
  network: ImageRecord['request']['network'],
): Promise<Origin | null> {
  try {
    return await placeableOrigin(store, { snapshotId, network });
  } catch (error) {
    if (error instanceof MayflyError && error.code === 'no_host') return null;
    throw error;
  }
}

/** Null while no host has read it. */
async function contentOf(store: ProjectStore, name: string): Promise<string | null> {
  const all = (await store.hosts.list()).flatMap(({ sources }) => sources.filter((source) => source.name === name));
  return all.map(({ content }) => content ?? null).find((content) => content !== null) ?? null;
}
