/** How a step is stopped and how it says that it is alive. */
export interface StepContext {
  signal: AbortSignal;
  /** Called at least once a second by steps that wait. */
  readonly alive: (detail: string) => void;
}
