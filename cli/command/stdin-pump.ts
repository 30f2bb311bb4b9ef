import type { Readable } from 'node:stream';
import { MayflyApiError } from '../../client/api-error.ts';
import type { Commands } from '../../client/commands.ts';
import { LIMITS } from '../../model/limits.ts';

/** Hands what comes on our standard input to a command's, in order, and closes it at the end. */
export class StdinPump {
  #offset = 0;
  #stopped = false;

  constructor(
    private readonly commands: Commands,
    private readonly sandboxId: string,
    private readonly commandId: string,
    private readonly input: Readable,
  ) {}

  /** @param onFailure is told when something else than the command's end keeps input from it */
  start(onFailure: (error: unknown) => void): void {
    this.#pump().catch(onFailure);
  }

  /** The command has ended: what is left on standard input is somebody else's. */
  stop(): void {
    this.#stopped = true;
    this.input.destroy();
  }

  async #pump(): Promise<void> {
    try {
      for await (const chunk of this.input) {
        const bytes = chunk as Uint8Array;
        for (let at = 0; at < bytes.length; at += LIMITS.command.stdinBytes) {
          await this.#send(bytes.subarray(at, at + LIMITS.command.stdinBytes));
        }
      }
      await this.#send(new Uint8Array(), true);
    } catch (error) {
      // A command may end, or close its input, before it has read everything: its exit code says the rest.
      const isOver = error instanceof MayflyApiError && ['command_ended', 'stdin_conflict'].includes(error.code);
      if (this.#stopped || isOver) return;
      throw error;
    }
  }

  async #send(bytes: Uint8Array, close = false): Promise<void> {
    const options = { offset: this.#offset, close };
    this.#offset = (await this.commands.writeStdin(this.sandboxId, this.commandId, bytes, options)).offset;
  }
}
