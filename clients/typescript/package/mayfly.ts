import { randomUUID } from 'node:crypto';
import { isCreateFinished, isFinal } from '../../../model/sandbox/sandbox-state.ts';
import type { CallOptions } from '../http/deadline.ts';
import { withinDeadline } from '../http/deadline.ts';
import type { Sandbox as SandboxRecord } from '../http/openapi.ts';
import { ApprovalNeededError, MayflyApiError, problemFrom } from '../http/problem.ts';
import type { PostOptions } from '../http/transport.ts';
import { type CreateOneSandbox, MayflyClient } from '../mayfly-client.ts';
import { Sandbox } from './sandbox.ts';

/** Default deadline until a sandbox runs, s. */
const CREATE_SECONDS = 300;
/** Time for which the cleanup of an aborted create may delay its caller, s. */
const ABORT_CLEANUP_SECONDS = 10;
const PAGE = 100;

/** Client of the API, whose sandboxes end with the block that made them. */
export class Mayfly extends MayflyClient {
  /**
   * Creates a sandbox and waits until it runs. `await using sandbox = await mayfly.create(…)` destroys it at the end of
   * its block.
   *
   * After an abort (its signal, its deadline, an API that does not answer), it is destroyed before this throws; if that
   * fails too, it ends by its `ttlSeconds`. `deadlineSeconds` is how long the caller waits, `ttlSeconds` how long the
   * sandbox lives.
   * @param options `deadlineSeconds`: `@default` 300
   * @throws MayflyApiError also when it could not be created, with nothing of it left
   */
  async create(request: CreateOneSandbox, options: PostOptions = {}): Promise<Sandbox> {
    const { deadlineSeconds = CREATE_SECONDS, signal } = options;
    const idempotencyKey = options.idempotencyKey ?? randomUUID();
    signal?.throwIfAborted();
    try {
      return await withinDeadline(deadlineSeconds, signal, async (within) => {
        const begun = await this.createSandbox(request, { idempotencyKey, deadlineSeconds, signal: within });
        return new Sandbox(this, await this.#running(begun, within, deadlineSeconds));
      });
    } catch (error) {
      // A request that the API refused, or that awaits approval, started nothing; a failed create left nothing.
      const hasStarted = !(error instanceof MayflyApiError || error instanceof ApprovalNeededError);
      if (hasStarted) await this.#takeBack(request, idempotencyKey);
      throw error;
    }
  }

  /** Returns an existing sandbox, by its id or its name. */
  async sandbox(idOrName: string, options: CallOptions = {}): Promise<Sandbox> {
    return new Sandbox(this, await this.getSandbox(idOrName, options));
  }

  /**
   * Yields all sandboxes, newest first, in pages that are fetched while reading. @param options `pageSize`: `@default`
   * 100
   */
  async *sandboxes({
    pageSize = PAGE,
    ...options
  }: CallOptions & { state?: SandboxRecord['state']; alive?: true; pageSize?: number } = {}): AsyncGenerator<
    SandboxRecord,
    void,
    undefined
  > {
    let cursor: string | null | undefined;
    do {
      const page = await this.listSandboxes({ ...options, limit: pageSize, ...(cursor && { cursor }) });
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor);
  }

  async #running(begun: SandboxRecord, signal: AbortSignal, deadlineSeconds: number): Promise<SandboxRecord> {
    let record = begun;
    if (!isCreateFinished(record.state)) {
      const options = { signal, deadlineSeconds };
      for await (record of this.watchSandbox(begun.id, options)) if (isCreateFinished(record.state)) break;
    }
    if (!isFinal(record.state)) return record;
    const { failure } = record;
    const title = `The sandbox is ${record.state}`;
    const code = failure?.code ?? 'sandbox_ended';
    const problem = { title, code, retryable: false, sandboxId: record.id, detail: failure?.message };
    throw new MayflyApiError(problemFrom(502, JSON.stringify(problem)));
  }

  /** Destroys the sandbox of an aborted create. The same request again returns its id. */
  async #takeBack(request: CreateOneSandbox, idempotencyKey: string): Promise<void> {
    const options = { waitSeconds: 0, deadlineSeconds: ABORT_CLEANUP_SECONDS };
    try {
      const { id } = await this.createSandbox(request, { ...options, idempotencyKey });
      await this.destroySandbox(id, options);
    } catch {
      // The caller gets the reason of the abort; an unreachable sandbox ends by its TTL.
    }
  }
}
