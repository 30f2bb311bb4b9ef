import { readFileSync } from 'node:fs';
import { type ErrorCode, isErrorCode, MayflyError } from '../model/errors.ts';
import { pause } from './os/abort.ts';

const WHERE = ['before', 'during', 'after'] as const;
/** Point of a step at which a fault strikes. `during` is between two side effects of the same step. */
type FailpointWhere = (typeof WHERE)[number];

type Action =
  | { kind: 'error'; code: ErrorCode }
  | { kind: 'hang' }
  | { kind: 'delay'; ms: number }
  | { kind: 'deaf' }
  | { kind: 'kill' | 'stop' };

interface Failpoint {
  action: Action;
  hitsLeft: number;
}

const POINT =
  /^(?:(?<id>[a-z]{3}-[0-9a-z]{16})\/)?(?<step>[A-Za-z][\w-]*)\.(?<where>\w+)=(?:(?<count>\d+)\*)?(?<verb>\w+)(?:\((?<argument>\w*)\))?$/;
const MAX_DELAY_MS = 3_600_000;

/**
 * Fault injection. Grammar of `MAYFLY_FAILPOINTS`:
 *
 *     points = point *( ";" point )
 *     point  = [ id "/" ] step "." ( "before" | "during" | "after" ) "=" [ count "*" ] action
 *     action = "error" | "error(" code ")" | "hang" | "delay(" milliseconds ")" | "deaf" | "kill" | "stop"
 *
 * Or `@` and the absolute path of a file with points: it is read at each step, so a running process can be armed.
 *
 * A point with an id strikes only at steps of that sandbox, snapshot, source, capture, bake or command:
 * `sbx-0123456789abcdef/cloneDisk.after=error`. Without an id, it strikes at all steps of the process.
 *
 * `error` is not retryable (`fault_injected`); `error(code)` is retryable when the error table says so. `hang` and
 * `delay` end when the step is cancelled, `deaf` ignores cancellation. A count limits the hits:
 * `cloneDisk.after=2*error(clone_failed)`; without one, every hit strikes. `stop` sends the process SIGSTOP: a test
 * waits for the stopped process, and resumes it with SIGCONT.
 */
export class Failpoints {
  #points: ReadonlyMap<string, Failpoint>;
  /** Content of the file when it was last read. */
  #said: string | null = null;

  private constructor(
    points: ReadonlyMap<string, Failpoint>,
    private readonly file: string | null = null,
  ) {
    this.#points = points;
  }

  /**
   * Replaces the points of one id, or all points.
   * @param text undefined: no faults @param id `@default` all points are replaced @throws as {@link parse}
   */
  arm(text: string | undefined, id?: string): void {
    if (id === undefined) {
      this.#points = Failpoints.parse(text).#points;
      return;
    }
    const parts = partsOf(text).map((part) => `${id}/${part}`);
    const own = Failpoints.parse(parts.join(';')).#points;
    const others = [...this.#points].filter(([name]) => !name.startsWith(`${id}/`));
    this.#points = new Map([...others, ...own]);
  }

  /**
   * @param text value of `MAYFLY_FAILPOINTS`; undefined or empty: no faults
   * @throws MayflyError invalid_request that names the point which cannot be parsed
   */
  static parse(text: string | undefined): Failpoints {
    if (text?.startsWith('@/')) return new Failpoints(new Map(), text.slice(1));
    const points = new Map<string, Failpoint>();
    for (const part of partsOf(text)) {
      const { name, failpoint } = parsePoint(part);
      if (points.has(name)) throw toParseError(part, `${name} is set twice`);
      points.set(name, failpoint);
    }
    return new Failpoints(points);
  }

  /** True when any fault is set: worth a warning at start. */
  get armed(): boolean {
    return this.file !== null || this.#points.size > 0;
  }

  /**
   * Triggers the fault that is set for one of the ids, else the one for the whole process. @param about ids of the step
   * @throws MayflyError the injected error; the signal's reason when it is aborted while hanging or delayed
   */
  async hit(
    step: string,
    where: FailpointWhere,
    about: string | readonly string[],
    signal?: AbortSignal,
  ): Promise<void> {
    if (this.file !== null) this.#read(this.file);
    if (this.#points.size === 0) return;
    const point = `${step}.${where}`;
    for (const name of [...[about].flat().map((id) => `${id}/${point}`), point]) {
      const failpoint = this.#points.get(name);
      if (!failpoint || failpoint.hitsLeft <= 0) continue;
      failpoint.hitsLeft--;
      return trigger(failpoint.action, name, signal);
    }
  }

  /** Resets the hit counts when the file has changed. */
  #read(file: string): void {
    const said = readFileSync(file, 'utf8').trim();
    if (said === this.#said) return;
    this.#points = Failpoints.parse(said).#points;
    this.#said = said;
  }
}

async function trigger(action: Action, name: string, signal: AbortSignal | undefined): Promise<void> {
  switch (action.kind) {
    case 'error':
      throw new MayflyError(action.code, `The failpoint ${name} injected ${action.code}.`);
    case 'kill':
    case 'stop':
      process.kill(process.pid, action.kind === 'kill' ? 'SIGKILL' : 'SIGSTOP');
      return;
    case 'delay':
      return pause(action.ms, signal);
    case 'hang':
      for (;;) await pause(MAX_DELAY_MS, signal);
    case 'deaf':
      for (;;) await pause(MAX_DELAY_MS);
  }
}

function partsOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function parsePoint(part: string): { name: string; failpoint: Failpoint } {
  const fields = POINT.exec(part)?.groups;
  if (!fields) throw toParseError(part, 'expected step.where=action, or id/step.where=action');
  const where = WHERE.find((w) => w === fields['where']);
  if (!where) throw toParseError(part, `"${fields['where']}" is none of ${WHERE.join(', ')}`);
  const count = fields['count'] === undefined ? Number.POSITIVE_INFINITY : Number(fields['count']);
  if (count < 1) throw toParseError(part, 'a count is at least 1');
  const name = `${fields['step']}.${where}`;
  return {
    name: fields['id'] === undefined ? name : `${fields['id']}/${name}`,
    failpoint: { action: parseAction(part, fields['verb'] ?? '', fields['argument']), hitsLeft: count },
  };
}

function parseAction(part: string, verb: string, argument: string | undefined): Action {
  if (verb === 'error' && argument === undefined) return { kind: 'error', code: 'fault_injected' };
  if (verb === 'error' && argument !== undefined) {
    if (!isErrorCode(argument)) throw toParseError(part, `"${argument}" is not in the error table`);
    return { kind: 'error', code: argument };
  }
  if (verb === 'delay' && argument !== undefined && /^\d{1,7}$/.test(argument) && Number(argument) <= MAX_DELAY_MS) {
    return { kind: 'delay', ms: Number(argument) };
  }
  if ((verb === 'hang' || verb === 'deaf' || verb === 'kill' || verb === 'stop') && argument === undefined)
    return { kind: verb };
  throw toParseError(part, 'the action is none of error, error(code), hang, delay(milliseconds), deaf, kill, stop');
}

function toParseError(part: string, why: string): MayflyError {
  return new MayflyError(
    'invalid_request',
    `MAYFLY_FAILPOINTS: cannot understand ${JSON.stringify(part)}: ${why}. Example: cloneDisk.after=2*error(clone_failed).`,
  );
}
