import type { Logger } from 'pino';
import { ABANDONED_AFTER_MS } from '../../activities/sandbox/command-audit.ts';
import type { CommandRuns } from '../../host/exec/command-runs.ts';
import { repeating } from '../../host/os/repeating.ts';
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
 * Goes on with the commands of this host that run, as soon as its worker starts: Temporal notices the death of the one
 * before only when its heartbeats stay away. Who asks for them later joins.
 */
export class OpenCommands {
  readonly #deps: OpenCommandsDeps;
  #stopSweeping: () => Promise<void> = async () => {};
  /** Those that had no record when they were last looked at: it is written beside what opens them. */
  #unrecorded = new Set<string>();

  constructor(deps: OpenCommandsDeps) {
    this.#deps = deps;
  }

  /** Looks once, and then every `openCommandsMs`. */
  async start(): Promise<void> {
    await this.#sweep();
    this.#stopSweeping = repeating(() => this.#sweep(), DEFAULT_INTERVALS.openCommandsMs, false);
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
        await this.#look(sandboxId, commandId, before.has(commandId));
      }
    } catch (error) {
      logger.warn({ err: error }, 'commands that are open could not be looked through; those of Temporal go on');
    }
  }

  async #look(sandboxId: string, commandId: string, wasUnrecorded: boolean): Promise<void> {
    const { observer, store, commandRuns } = this.#deps;
    const record = await store.commands.get(commandId);
    if (!record && !wasUnrecorded) this.#unrecorded.add(commandId);
    // Whoever ended it was killed before it could tidy up; or whoever asked for it, before it was recorded.
    if (record ? record.state === 'ended' : wasUnrecorded) {
      await store.commandInputs.remove(commandId);
      await store.activity.closeCommand(sandboxId, commandId);
    }
    if (!record || !isSameHost(record, observer) || commandRuns.isUnderWay(commandId)) return;
    if (record.state === 'running') this.#goOn(commandId, commandRuns.runToEnd(commandId));
    const age = Date.now() - Date.parse(record.requestedAt);
    if (record.state === 'requested' && age > ABANDONED_AFTER_MS) this.#goOn(commandId, commandRuns.settle(commandId));
  }

  /** Its failure is no end: Temporal asks for the command again, and so does the next sweep. */
  #goOn(commandId: string, ended: Promise<unknown>): void {
    ended.catch((error: unknown) =>
      this.#deps.logger.info({ err: error, commandId }, 'a command is to be gone on with later'),
    );
  }
}
