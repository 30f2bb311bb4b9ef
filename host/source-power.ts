import type { SourcePowered } from '../model/snapshots/source-power.ts';
import type { StepContext } from './step-context.ts';

export interface StartRequest {
  sourceId: string;
  /** As the machine names it. */
  source: string;
  /** How long its guest agent may take until it answers. Milliseconds. */
  answersMs: number;
}

export interface StopRequest {
  sourceId: string;
  /** As the machine names it. */
  source: string;
  /** As if its power cord were pulled: what it has not written yet is lost. */
  force: boolean;
  /** How long its guest may take. Milliseconds. */
  withinMs: number;
}

/**
 * Starts and stops the sources of one machine. These are not ours: nothing that leans on their disks, and nobody who shares
 * them, may notice. As with {@link Hypervisor}, both are an "ensure".
 */
export interface SourcePower {
  /**
   * Resolves when it runs and its guest agent answers, or has not answered in time. One that ran already is looked at once.
   * @throws MayflyError source_not_found; source_read_only where it is an image of Mayfly's; source_in_use when something
   * refers to its disks, or another domain has them; source_start_failed
   */
  start(request: StartRequest, context: StepContext): Promise<SourcePowered>;
  /** Resolves when it is shut off. @throws MayflyError source_not_found; source_stop_failed when it is not in time */
  stop(request: StopRequest, context: StepContext): Promise<void>;
}
