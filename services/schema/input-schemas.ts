import { Mutex } from 'async-mutex';
import { MayflyError } from '../../model/errors.ts';
import { splitInexactNumbers } from '../../model/events/json/exact-json.ts';
import { RawJson } from '../../model/events/json/raw-json.ts';
import type { Answer, Problem, Question } from './messages.ts';
import { type NoAnswer, type ProcessLimits, ValidatorProcess } from './validator-process.ts';

/** Limit of the JSON text of a schema, bytes. */
const MAX_BYTES = 65_536;
/** Limit of nested objects and arrays. */
const MAX_NESTING = 64;

/**
 * @returns the JSON text of a schema
 * @throws MayflyError invalid_schema when it is too large, too deep, or neither an object nor a boolean
 */
function schemaText(schema: unknown): string {
  if (isDeeper(schema, MAX_NESTING)) throw invalidSchema(`is nested deeper than ${MAX_NESTING} levels`);
  const isSchema = typeof schema === 'boolean' || (typeof schema === 'object' && schema !== null);
  if (!isSchema || Array.isArray(schema)) throw invalidSchema('must be an object or a boolean');
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_BYTES) throw invalidSchema(`has more than ${MAX_BYTES / 1_024} KiB as JSON`);
  return text;
}

/** Refuses a number that a double cannot hold exactly. @throws MayflyError invalid_schema @param json of a schema */
export function refuseInexact(json: string | undefined): void {
  const inexact = json === undefined ? null : splitInexactNumbers(json);
  if (inexact)
    throw invalidSchema(`has the number ${inexact.first.slice(0, 100)}, which no 64-bit floating-point number is`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function invalidSchema(problem: string): MayflyError {
  return new MayflyError('invalid_schema', `The schema ${problem}.`, { fields: [{ field: '', problem }] });
}

export interface SchemaLimits extends ProcessLimits {
  /** Limit of questions in progress or queued. */
  waiting: number;
}

/**
 * Measured on 2 cores of a busy machine: a schema of 64 KiB, of properties with a pattern each, compiles in 0.4 s; an event
 * of 0.8 MiB takes 0.1 s, in a new process; 100 compiled schemas of 64 KiB are 35 MiB. A slower processor has room.
 */
const LIMITS: SchemaLimits = { compileMs: 2_000, validateMs: 500, heapMiB: 64, waiting: 1_000 };
/** Retry-After, s: a full queue of fast questions takes less. */
const RETRY_AFTER_SECONDS = 1;

/**
 * JSON Schemas (draft 2020-12) of functions' inputs, checked at deploy and applied to each event. One per API process.
 * A child process compiles and runs them one at a time; it starts at the first question or by `warm`, and is replaced
 * when a question exceeds its time or memory.
 */
export class InputSchemas {
  readonly #limits: SchemaLimits;
  readonly #turn = new Mutex();
  #waiting = 0;
  #process: ValidatorProcess | null = null;
  #isClosed = false;

  /** @param limits for tests */
  constructor(limits: Partial<SchemaLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Checks a schema. @throws MayflyError invalid_schema with the position, schema_too_slow, too_many_requests */
  async check(schema: unknown): Promise<void> {
    await this.#enqueue({ schema: schemaText(schema) });
  }

  /**
   * Validates data.
   * @param digest of the schema, key of the compiled one
   * @param data a JSON value; the numbers of a {@link RawJson} are compared digit by digit
   * @param signal cancels the question while it is queued
   * @returns at most 20 problems; none when the data fits
   * @throws MayflyError schema_too_slow, too_many_requests; invalid_schema when `check` would refuse it; the reason of
   *   the signal
   */
  async problemsOf(digest: string, schema: unknown, data: unknown, signal?: AbortSignal): Promise<Problem[]> {
    const texts = dataTexts(data);
    if (texts === null) return [{ field: '', problem: 'is nested too deeply' }];
    return await this.#enqueue({ schema: schemaText(schema), digest, ...texts }, signal);
  }

  /** Starts the process ahead of the first event. A failed start surfaces at the first question. */
  async warm(): Promise<void> {
    await this.#turn.runExclusive(async () => {
      if (this.#process?.isOver !== false && !this.#isClosed)
        this.#process = await ValidatorProcess.start(this.#limits);
    });
  }

  /** Ends the process and the queued questions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.kill();
    await this.#turn.waitForUnlock();
  }

  async #enqueue(question: Question, signal?: AbortSignal): Promise<Problem[]> {
    if (this.#waiting >= this.#limits.waiting) {
      throw new MayflyError('too_many_requests', 'Too many events wait to be checked.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    this.#waiting++;
    try {
      const answer = await this.#turn.runExclusive(() => {
        signal?.throwIfAborted();
        return this.#answerOrRetry(question);
      });
      if (typeof answer === 'string') throw tooSlow(answer, question);
      if ('invalid' in answer) throw invalid(answer.invalid);
      return answer.problems;
    } finally {
      this.#waiting--;
    }
  }

  /**
   * Repeats a question in a new process when it ended a used one: memory left by earlier questions may be the cause.
   */
  async #answerOrRetry(question: Question): Promise<Answer | NoAnswer> {
    const used = this.#process?.isOver === false ? this.#process : null;
    const answer = await (used ?? (await this.#start())).ask(question);
    if (answer !== 'ended' || used === null || this.#isClosed) return this.#unlessClosed(answer);
    return this.#unlessClosed(await (await this.#start()).ask(question));
  }

  async #start(): Promise<ValidatorProcess> {
    this.#refuseClosed();
    const started = await ValidatorProcess.start(this.#limits);
    if (started === null) throw new MayflyError('internal', 'The process that checks data by schemas does not start.');
    this.#process = started;
    if (this.#isClosed) await started.kill();
    return started;
  }

  #unlessClosed(answer: Answer | NoAnswer): Answer | NoAnswer {
    if (typeof answer === 'string') this.#refuseClosed();
    return answer;
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new MayflyError('internal', 'This API process is stopping.');
  }
}

/** @returns null for data that is nested too deeply to serialize */
function dataTexts(data: unknown): { data: string; exact?: string } | null {
  try {
    if (!(data instanceof RawJson)) return { data: JSON.stringify(data) };
    const inexact = splitInexactNumbers(data.text);
    return inexact ? { data: inexact.plain, exact: inexact.exact } : { data: data.text };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function invalid(problem: Problem): MayflyError {
  const at = problem.field === '' ? '' : ` at ${problem.field}`;
  return new MayflyError('invalid_schema', `The schema is not valid${at}: it ${problem.problem}.`, {
    fields: [problem],
  });
}

function tooSlow(why: NoAnswer, { data }: Question): MayflyError {
  const what = data === undefined ? 'Compiling the schema' : 'Checking the data by the schema';
  return new MayflyError('schema_too_slow', `${what} took more ${why === 'time' ? 'time' : 'memory'} than it may.`);
}
