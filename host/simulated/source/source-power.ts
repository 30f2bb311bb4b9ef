import { MayflyError } from '../../../model/errors.ts';
import type { SourcePowerResult } from '../../../model/snapshots/source-power.ts';
import type { Failpoints } from '../../failpoints.ts';
import type { SourcePower, StartRequest, StopRequest } from '../../source-power.ts';
import type { StepContext } from '../../step-context.ts';
import { DEFAULT_IMAGE, readImage } from '../machine/image.ts';
import type { SimulatedSources } from './running-source.ts';

interface PowerDeps {
  images: string;
  sources: SimulatedSources;
  failpoints: Failpoints;
}

/** Power of a simulated host's sources: process trees in their own images, without referrers. */
export class SimulatedSourcePower implements SourcePower {
  constructor(private readonly deps: PowerDeps) {}

  /** Starts without waiting for a guest agent: its console is the kernel's, which always answers. */
  async start({ sourceId, source }: StartRequest, { signal }: StepContext): Promise<SourcePowerResult> {
    const { images, sources, failpoints } = this.deps;
    const { name, problem } = await readImage(images, source);
    if (name === DEFAULT_IMAGE) throw readOnly(name);
    if (problem !== null) throw startFailed(name, problem);
    signal.throwIfAborted();
    try {
      await sources.start(name);
    } catch (error) {
      if (error instanceof MayflyError || !(error instanceof Error)) throw error;
      throw startFailed(name, error.message, error);
    }
    await failpoints.hit('startSource', 'during', sourceId, signal);
    return { guestAnswers: true };
  }

  async stop({ sourceId, source, force, withinMs }: StopRequest, { signal }: StepContext): Promise<void> {
    const { images, sources, failpoints } = this.deps;
    const { name } = await readImage(images, source);
    await failpoints.hit('stopSource', 'during', sourceId, signal);
    await (force ? sources.stop(name) : sources.stop(name, { by: 'SIGTERM', withinMs, signal }));
  }
}

function readOnly(name: string): MayflyError {
  return new MayflyError('source_read_only', `${name} is what every simulated host has, and must not change.`);
}

function startFailed(name: string, why: string, cause?: unknown): MayflyError {
  return new MayflyError('source_start_failed', `${JSON.stringify(name)} did not start: ${why}.`, { cause });
}
