import { CancellationScope, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { AuditKind } from '../model/audit.ts';
import type { SourceAccess, SourceInput } from '../model/source-access.ts';
import { patientControl } from './control.ts';

const { rememberSource } = patientControl;

type Changes = Partial<Omit<SourceAccess, 'id' | 'hostId' | 'name' | 'updatedAt'>>;

/** One task on a source, as its workflow knows it. All writes of the source's record go through here. */
export class SourceLife {
  /** The step that failed last, before any undo. */
  failedStep = 'workflow';
  /**
   * Later runs are newer than earlier ones, so that an attempt that was given up does not act into the next run; an
   * undo is newer than its step.
   */
  readonly generation: number;
  private events = 0;

  constructor(readonly input: SourceInput) {
    this.generation = workflowInfo().startTime.getTime();
  }

  now(): string {
    return new Date(Date.now()).toISOString();
  }

  /** Changes the record; also when the workflow is being cancelled. */
  async tell(changes: Changes, said?: { kind: AuditKind; detail: Record<string, unknown> }): Promise<void> {
    const { sourceId: id, hostId, name, actor, task } = this.input;
    const at = this.now();
    const { runId } = workflowInfo();
    setCurrentDetails([task, changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const eventId = `${runId}/${this.events++}`;
    const event = said && { eventId, ...said, actor, runId, hostId, at };
    await CancellationScope.nonCancellable(() =>
      rememberSource({ source: { id, hostId, name }, changes: { ...changes, updatedAt: at }, event: event ?? null }),
    );
  }

  async step<T>(name: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      this.failedStep = name;
      throw error;
    }
  }
}
