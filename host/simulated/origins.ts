import { MayflyError } from '../../model/errors.ts';
import { RUNNING_PROBLEM, type SourceInfo } from '../../model/host.ts';
import type { RunningSource } from '../console.ts';
import type { CloneRequest } from '../hypervisor.ts';
import { copyTree, digestOfTree } from './disk/tree.ts';
import { imageRoot, listImages, readImage } from './machine/image.ts';
import type { DiskCopy } from './machine/workspace.ts';
import type { SimulatedSnapshots } from './snapshots.ts';
import type { SimulatedCaptures } from './source/captures.ts';
import type { SimulatedSources } from './source/running-source.ts';

interface OriginsDeps {
  images: string;
  running: SimulatedSources;
  snapshots: SimulatedSnapshots;
  captures: SimulatedCaptures;
}

/** Origins of clones: stopped sources, snapshots and captures. */
export class Origins {
  constructor(private readonly deps: OriginsDeps) {}

  async sources(): Promise<SourceInfo[]> {
    return Promise.all((await listImages(this.deps.images)).map((source) => this.#withRunState(source)));
  }

  /** @throws MayflyError source_not_found */
  async source(name: string): Promise<SourceInfo> {
    return this.#withRunState(await readImage(this.deps.images, name));
  }

  /** @throws MayflyError source_not_found, source_running */
  async contentOf(name: string, signal: AbortSignal): Promise<string> {
    const source = await this.source(name);
    if (source.problem === RUNNING_PROBLEM) throw running(source);
    return digestOfTree(imageRoot(this.deps.images, name), signal);
  }

  /** @throws MayflyError source_not_found, source_not_running */
  async running(name: string): Promise<RunningSource> {
    const { name: known } = await readImage(this.deps.images, name);
    return this.deps.running.running(known);
  }

  /** @throws MayflyError source_not_found, source_running, source_unsafe */
  async copierOf({ source: name, snapshotId, captureId }: CloneRequest): Promise<DiskCopy> {
    const { images, snapshots, captures } = this.deps;
    if (captureId) return (to, signal) => captures.copy(captureId, to, signal);
    if (snapshotId !== null) return (to, signal) => snapshots.copy(snapshotId, to, signal, null);
    const source = await this.source(name);
    if (source.problem === RUNNING_PROBLEM) throw running(source);
    if (!source.cloneable) throw new MayflyError('source_unsafe', source.problem ?? `${source.name} cannot be cloned.`);
    return async (to, signal) => {
      await copyTree(imageRoot(images, source.name), to, signal);
      if (await this.deps.running.isRunning(source.name)) throw running(source); // just started
    };
  }

  async #withRunState(source: SourceInfo): Promise<SourceInfo> {
    if (!source.cloneable || !(await this.deps.running.isRunning(source.name))) return source;
    return { ...source, cloneable: false, problem: RUNNING_PROBLEM, content: null };
  }
}

function running({ name }: SourceInfo): MayflyError {
  return new MayflyError('source_running', `${name}: ${RUNNING_PROBLEM}`);
}
