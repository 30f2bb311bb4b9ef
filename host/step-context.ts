/** Cancellation and heartbeat of a step. */
export interface StepContext {
  signal: AbortSignal;
  /** Heartbeat: steps that wait call it at least once a second. */
  readonly alive: (detail: string) => void;
}
