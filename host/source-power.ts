import type { SourcePowerResult } from '../model/snapshots/source-power.ts';
import type { StepContext } from './step-context.ts';

export interface StartRequest {
  sourceId: string;
  /** Name on the machine. */
  source: string;
  /** Timeout for the guest agent's answer, ms. */
  answersMs: number;
}

export interface StopRequest {
  sourceId: string;
  /** Name on the machine. */
  source: string;
  /** Cuts the power: unwritten data is lost. */
  force: boolean;
  /** Timeout for the guest's shutdown, ms. */
  withinMs: number;
}

/**
 * Starts and stops the sources of one machine. Mayfly does not own them: users of their disks must not notice. As with
 * {@link Hypervisor}, both are idempotent.
 */
export interface SourcePower {
  /**
   * Resolves when the source runs and its guest agent answers or has timed out. A source that ran already is probed
   * once.
   * @throws MayflyError source_not_found; source_read_only for an image of Mayfly's; source_in_use when its disks are
   * referenced, or another domain has them; source_start_failed
   */
  start(request: StartRequest, context: StepContext): Promise<SourcePowerResult>;
  /** Resolves when the source is shut off. @throws MayflyError source_not_found; source_stop_failed on timeout */
  stop(request: StopRequest, context: StepContext): Promise<void>;
}
