import { CancellationScope, condition, setHandler } from '@temporalio/workflow';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import type { OperationOutcome } from '../../model/sagas/continued-life.ts';
import type { Operation, OperationReport } from '../../model/sagas/messages.ts';
import type { StopReason } from '../../model/sandbox/sandbox.ts';
import { isAsleep } from '../../model/sandbox/sandbox-state.ts';
import type { Life } from '../life/life.ts';
import { OperationRun } from '../life/operation-run.ts';
import { operationGeneration } from '../life/steps.ts';
import { shallContinue } from '../saga/continuing.ts';
import { refusal } from '../saga/failure.ts';
import { layerDeleted, operate, operated } from '../saga/messages.ts';
import { areLayersToGo, flattenDisks } from '../snapshot/flatten-disks.ts';
import { snapshotSandbox } from '../snapshot/snapshot-sandbox.ts';
import { hibernateSandbox } from './hibernate-sandbox.ts';
import { pauseSandbox, resumeSandbox } from './pause-sandbox.ts';
import { restoreSandbox } from './restore-sandbox.ts';
import { resumeWithSpace, suspendForSpace } from './suspend-for-space.ts';

/** Of so many that are over it is known how they ended: a client asks again within a day, and not about all of them. */
const KNOWN_OUTCOMES = 100;
/** While one of these is under way, the machine may be off since it is to be; all others need it to be there throughout. */
const MACHINE_MAY_GO_OFF: ReadonlySet<Operation['kind']> = new Set(['restore', 'hibernate', 'resume']);

/**
 * What is done to a sandbox between its create and its end: snapshots, restores, pauses, hibernation, one at a time, so that they
 * meet neither each other nor the end. The end cuts them short; what they had half made is taken back first.
 */
export class Operations {
  readonly #outcomes: OperationOutcome[];
  #current: OperationRun | null = null;
  #isFlattening = false;

  /** @param outcomes of those that earlier runs have seen to their ends */
  constructor(
    private readonly life: Life,
    outcomes: readonly OperationOutcome[] = [],
  ) {
    this.#outcomes = [...outcomes];
    life.onIdle(() => {
      const operation = { kind: 'hibernate', operationId: newOperationId(), actor: null } as const;
      this.#begin(operation).catch(() => undefined); // refused while something else is under way: the next idle time tries again
    });
    setHandler(layerDeleted, () => {
      life.hasDeletedLayer = true;
    });
    setHandler(operate, (operation) => this.#begin(operation), {
      validator: (operation) => {
        life.checkOpen();
        this.#check(operation);
      },
    });
    setHandler(
      operated,
      async (operationId) => {
        const report = (await this.#underWay(operationId)?.whenOver()) ?? this.#past(operationId);
        if (!report) throw refusal('not_found', `${life.id} knows of no operation ${operationId}.`);
        return report;
      },
      { validator: (_operationId) => life.checkOpen() },
    );
  }

  /** Of the latest that are over, the oldest first. */
  get outcomes(): OperationOutcome[] {
    return this.#outcomes;
  }

  /** Does what is asked for until the sandbox shall end. */
  async untilEnd(end: Promise<StopReason>): Promise<StopReason> {
    const scope = new CancellationScope();
    void end.then(() => {
      this.life.shallEnd = true;
      scope.cancel();
    });
    for (;;) {
      await this.#untilNext();
      if (this.life.shallEnd) {
        this.#current?.end(refusal('sandbox_ended', `${this.life.id} ended before it was begun.`));
        return end;
      }
      if (this.#current) await this.#perform(this.#current, scope);
      else await this.#continueAsNew();
    }
  }

  /** Returns when the end comes first. */
  async #continueAsNew(): Promise<void> {
    const { life } = this;
    await life.close();
    if (!life.isEnding) return life.continueAsNew({ outcomes: this.#outcomes, ending: null });
    life.isClosing = false;
    await condition(() => life.shallEnd);
  }

  /** Until there is something to do, or nothing any more. What is done of itself meanwhile gives way to it. */
  async #untilNext(): Promise<void> {
    const meanwhile = new CancellationScope();
    let flattened: Promise<void> | null = null;
    const isNext = () => this.life.shallEnd || this.#current !== null;
    const isOver = () => isNext() || shallContinue();
    let isDue = areLayersToGo(this.life);
    do {
      if (isDue) flattened = meanwhile.run(() => this.#flatten());
      isDue = true;
      await condition(() => isOver() || (this.life.hasDeletedLayer && !this.#isFlattening && areLayersToGo(this.life)));
    } while (!isOver());
    meanwhile.cancel();
    if (!isNext()) await flattened; // what it writes is written before the run continues as new
  }

  /** With a generation between the latest operation's and the next one's. */
  async #flatten(): Promise<void> {
    const { operations } = this.life;
    this.#isFlattening = true;
    try {
      await flattenDisks(this.life, operations === 0 ? 0 : operationGeneration(operations) + 1);
    } finally {
      this.#isFlattening = false;
    }
  }

  async #perform(run: OperationRun, scope: CancellationScope): Promise<void> {
    const generation = operationGeneration(this.life.beginOperation());
    try {
      const performed = () => perform(this.life, run, generation);
      await scope.run(() =>
        MACHINE_MAY_GO_OFF.has(run.operation.kind) ? this.life.death.whileOff(performed) : performed(),
      );
      run.end();
    } catch (error) {
      run.end(error);
    } finally {
      this.life.endOperation();
      this.#current = null; // one that was refused may be asked for again
      if (run.outcome) this.#outcomes.push(run.outcome);
      this.#outcomes.splice(0, this.#outcomes.length - KNOWN_OUTCOMES);
    }
  }

  #underWay(wanted: string): OperationRun | null {
    return this.#current?.operation.operationId === wanted ? this.#current : null;
  }

  #past(wanted: string): OperationReport | null {
    const past = this.#outcomes.find(({ operationId }) => operationId === wanted);
    return past ? { isOver: true, failure: past.failure } : null;
  }

  async #begin(operation: Operation): Promise<OperationReport> {
    this.#check(operation);
    const past = this.#past(operation.operationId);
    if (past) return past;
    this.#current ??= new OperationRun(operation, this.life);
    return this.#current.whenAccepted();
  }

  /** @throws ApplicationFailure why it can't be begun now */
  #check(wanted: Operation): void {
    const { id, isEnding, record } = this.life;
    if (this.#underWay(wanted.operationId) || this.#past(wanted.operationId)) return;
    if (isEnding) throw refusal('sandbox_ended', `${id} is ending or has ended.`);
    if (this.#current) {
      const { operation } = this.#current;
      throw refusal('sandbox_busy', `${id} is busy: ${operation.kind} ${operation.operationId} is under way.`);
    }
    if (record.state !== 'running' && !isAsleep(record.state)) {
      throw refusal('sandbox_not_running', `${id} is ${record.state}.`);
    }
    if (wanted.kind === 'snapshot' && wanted.notAfter !== undefined && Date.now() > Date.parse(wanted.notAfter)) {
      throw refusal('sandbox_busy', `${id} could not begin ${wanted.operationId} before ${wanted.notAfter}.`);
    }
    if (record.state === 'hibernated' && wanted.kind !== 'resume' && wanted.kind !== 'hibernate') {
      throw refusal('sandbox_not_running', `${id} is hibernated; resume it first.`);
    }
  }
}

/** Random as Temporal replays it. */
function newOperationId(): string {
  return operationIdFrom(Uint8Array.from({ length: ID_BYTES }, () => Math.random() * 256));
}

async function perform(life: Life, run: OperationRun, generation: number): Promise<void> {
  const { operation } = run;
  switch (operation.kind) {
    case 'snapshot':
      return snapshotSandbox(life, run, operation, generation);
    case 'restore':
      return restoreSandbox(life, run, operation, generation);
    case 'pause':
      return pauseSandbox(life, run, operation, generation);
    case 'hibernate':
      return hibernateSandbox(life, run, operation, generation);
    case 'resume':
      return resumeSandbox(life, run, operation, generation);
    case 'suspend-for-space':
      return suspendForSpace(life, run, operation, generation);
    case 'resume-with-space':
      return resumeWithSpace(life, run, operation, generation);
  }
}
