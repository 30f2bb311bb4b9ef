import type { Logger } from 'pino';
import { ABANDONED_AFTER_MS } from '../../activities/sandbox/command-audit.ts';
import type { CommandRuns } from '../../host/exec/command-runs.ts';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import { isSameHost, type Observer } from '../../model/host.ts';
import { DEFAULT_INTERVALS } from '../../model/intervals.ts';
import type { Store } from '../../store/connect.ts';

export interface OpenCommandsDeps {
  observer: Observer;
  store: Store;
  commandRuns: CommandRuns;
  logger: Logger;
}

/**
 * Resumes the running commands of this host as soon as its worker starts: Temporal notices the previous worker's death
 * only when heartbeats stop. Later requests for a command join it.
 */
export class CommandRecovery {
  readonly #deps: OpenCommandsDeps;
  #stopSweeping: () => Promise<void> = async () => {};
  /** Commands without a record at the last sweep: the record is written concurrently. */
  #unrecorded = new Set<string>();

  constructor(deps: OpenCommandsDeps) {
    this.#deps = deps;
  }

  /** Sweeps once, and then every `openCommandsMs`. */
  async start(): Promise<void> {
    await this.#sweep();
    this.#stopSweeping = setIntervalAsync(() => this.#sweep(), DEFAULT_INTERVALS.openCommandsMs, false);
  }

  async stop(): Promise<void> {
    await this.#stopSweeping();
  }

  async #sweep(): Promise<void> {
    const { store, logger } = this.#deps;
    const before = this.#unrecorded;
    this.#unrecorded = new Set();
    try {
      for (const { sandboxId, commandId } of await store.activity.openCommands()) {
        await this.#recover(sandboxId, commandId, before.has(commandId));
      }
    } catch (error) {
      logger.warn({ err: error }, 'commands that are open could not be looked through; those of Temporal go on');
    }
  }

  async #recover(sandboxId: string, commandId: string, wasUnrecorded: boolean): Promise<void> {
    const { observer, store, commandRuns } = this.#deps;
    const record = await store.commands.get(commandId);
    if (!record && !wasUnrecorded) this.#unrecorded.add(commandId);
    // A process was killed: after the end but before the cleanup, or after the request but before the record.
    if (record ? record.state === 'ended' : wasUnrecorded) {
      await store.commandInputs.remove(commandId);
      await store.activity.closeCommand(sandboxId, commandId);
    }
    if (!record || !isSameHost(record, observer) || commandRuns.isUnderWay(commandId)) return;
    if (record.state === 'running') this.#resume(commandId, commandRuns.runToEnd(commandId));
    const age = Date.now() - Date.parse(record.requestedAt);
    if (record.state === 'requested' && age > ABANDONED_AFTER_MS)
      this.#resume(commandId, commandRuns.settle(commandId));
  }

  /** A failure does not end the command: Temporal retries it, and so does the next sweep. */
  #resume(commandId: string, ended: Promise<unknown>): void {
    ended.catch((error: unknown) =>
      this.#deps.logger.info({ err: error, commandId }, 'a command is to be gone on with later'),
    );
  }
}
