import type { Failpoints } from '../../../host/failpoints.ts';
import type { SourcePower, StartRequest, StopRequest } from '../../../host/source-power.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { SourcePowerResult } from '../../../model/snapshots/source-power.ts';
import { GOLDEN, type Image, type InMemoryMachine } from './machine.ts';

/** Power of sources in memory: a mere flag; clones are copies, so that references don't exist. */
export class InMemorySourcePower implements SourcePower {
  constructor(
    private readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {}

  async start({ sourceId, source }: StartRequest, { signal }: StepContext): Promise<SourcePowerResult> {
    const image = this.#image(source);
    if (source === GOLDEN) throw new MayflyError('source_read_only', `${source} must not change.`);
    image.isRunning = true;
    await this.failpoints.hit('startSource', 'during', sourceId, signal);
    return { guestAnswers: null };
  }

  async stop({ sourceId, source }: StopRequest, { signal }: StepContext): Promise<void> {
    await this.failpoints.hit('stopSource', 'during', sourceId, signal);
    this.#image(source).isRunning = false;
  }

  #image(name: string): Image {
    const image = this.machine.images.get(name);
    if (image) return image;
    throw new MayflyError('source_not_found', `There is no source ${name}.`);
  }
}
