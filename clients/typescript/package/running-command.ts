import type { CallOptions } from '../http/deadline.ts';
import type { Command } from '../http/openapi.ts';
import type { MayflyClient } from '../mayfly-client.ts';
import type { CommandOutput } from '../sandbox/commands.ts';

/** Started command. It runs on after a reader of its output stops, until it ends or is cancelled. */
export class RunningCommand implements AsyncIterable<CommandOutput> {
  readonly #client: MayflyClient;
  readonly #sandboxId: string;
  #record: Command;
  /** Bytes written to standard input. */
  #written = 0;

  constructor(client: MayflyClient, record: Command) {
    this.#client = client;
    this.#sandboxId = record.sandboxId;
    this.#record = record;
  }

  get id(): string {
    return this.#record.id;
  }

  /** Last received record. */
  get record(): Command {
    return this.#record;
  }

  [Symbol.asyncIterator](): AsyncGenerator<CommandOutput, void, undefined> {
    return this.output();
  }

  /** Yields its output from the beginning until it ends, in order, across broken connections. */
  async *output(options: CallOptions = {}): AsyncGenerator<CommandOutput, void, undefined> {
    for await (const event of this.#client.commands.follow(this.#sandboxId, this.id, options)) {
      if ('ended' in event) this.#record = event.ended;
      else yield event;
    }
  }

  /** Returns when it has ended, however long that takes. */
  async ended(options: CallOptions = {}): Promise<Command> {
    if (this.#record.state !== 'ended') for await (const _ of this.output(options));
    return this.#record;
  }

  /** Ends its whole process tree. */
  async cancel(options: CallOptions = {}): Promise<Command> {
    this.#record = await this.#client.commands.cancel(this.#sandboxId, this.id, options);
    return this.#record;
  }

  /** Writes to standard input, which is open only where the command was started with `stdinOpen`. */
  async write(content: string | Uint8Array, options: CallOptions & { close?: boolean } = {}): Promise<void> {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const at = { ...options, offset: this.#written };
    const { offset } = await this.#client.commands.writeStdin(this.#sandboxId, this.id, bytes, at);
    this.#written = offset;
  }

  closeStdin(options: CallOptions = {}): Promise<void> {
    return this.write('', { ...options, close: true });
  }
}
