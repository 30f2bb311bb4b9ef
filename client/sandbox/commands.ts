import type { CommandRecord, CommandSpec, OutputStream } from '../../model/sandbox/command.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { type EventStreamOptions, followEvents } from '../http/event-stream.ts';
import type { Page, PageOptions, WaitOptions } from '../http/options.ts';
import { prefer, sandboxPath } from '../http/paths.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

/** What to run; one of `command` and `argv`. What is left out gets the server's default. */
export interface RunCommand {
  /** Run by the user's shell exactly as written, with `-c` and without its profile, as by sshd. */
  command?: string;
  /** Run without any shell. */
  argv?: string[];
  env?: Record<string, string>;
  cwd?: string;
  user?: string;
  /** Seconds. `@default` 600 */
  timeoutSeconds?: number;
  /** Written to standard input before anything else. */
  stdin?: string | { base64: string };
  /** Leaves standard input open for {@link Commands.writeStdin}. `@default` false */
  stdinOpen?: boolean;
  /** Bytes of each stream that are kept. `@default` 10 MiB */
  maxOutputBytes?: number;
}

/** A command as the API shows it. */
export interface Command extends Omit<CommandRecord, 'spec'> {
  spec: CommandSpec;
}

/** A piece of output, in the order in which the command wrote it. */
export interface CommandOutput {
  stream: OutputStream;
  /** ISO 8601, by the guest's clock. */
  at: string;
  /** Of its first byte in its stream. */
  offset: number;
  bytes: Uint8Array;
}

interface OutputEvent {
  stream: OutputStream;
  at: string;
  offset: number;
  text?: string;
  base64?: string;
}

/** Commands in sandboxes. Throws as {@link MayflyClient} does. */
export class Commands {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts it once, however often the request is sent. Returns it as `ended`, or earlier when the wait was over. */
  run(sandboxId: string, request: RunCommand, options: WaitOptions & PostOptions = {}): Promise<Command> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: commandsPath(sandboxId), body: request, headers }, options);
  }

  list(sandboxId: string, options: PageOptions = {}): Promise<Page<Command>> {
    const { limit, cursor } = options;
    return this.#transport.json({ method: 'GET', path: commandsPath(sandboxId), query: { limit, cursor } }, options);
  }

  get(sandboxId: string, commandId: string, options: CallOptions = {}): Promise<Command> {
    return this.#transport.json({ method: 'GET', path: commandPath(sandboxId, commandId) }, options);
  }

  /** Ends its whole process tree: SIGTERM, then SIGKILL. */
  cancel(sandboxId: string, commandId: string, options: CallOptions = {}): Promise<Command> {
    return this.#transport.json({ method: 'POST', path: `${commandPath(sandboxId, commandId)}/cancel` }, options);
  }

  /**
   * Adds to standard input. Sent once; after an answer that was lost, the same offset again finds out what arrived.
   * @param offset how many bytes were written before
   * @returns the offset to go on from
   */
  async writeStdin(
    sandboxId: string,
    commandId: string,
    bytes: Uint8Array,
    options: CallOptions & { offset: number; close?: boolean },
  ): Promise<{ offset: number }> {
    const query = { offset: options.offset, ...(options.close && { close: 'true' }) };
    const path = `${commandPath(sandboxId, commandId)}/stdin`;
    return this.#transport.jsonOnce({ method: 'POST', path, query, bytes }, options);
  }

  /** Its output from the beginning, live while it runs, then `ended`; goes on by itself across broken connections. */
  async *follow(
    idOrName: string,
    commandId: string,
    options: EventStreamOptions = {},
  ): AsyncGenerator<CommandOutput | { ended: Command }, void, undefined> {
    const call = options.signal ? { signal: options.signal } : {};
    const sandboxId = isSandboxId(idOrName) ? idOrName : (await this.get(idOrName, commandId, call)).sandboxId;
    let isOver = false;
    const path = `${commandPath(sandboxId, commandId)}/events`;
    for await (const { event, data } of followEvents(this.#transport, path, async () => isOver, options)) {
      if (event === 'output') yield outputOf(JSON.parse(data) as OutputEvent);
      if (event !== 'ended') continue;
      isOver = true;
      yield { ended: await this.get(sandboxId, commandId, call) };
      return;
    }
  }

  /** The bytes of one stream that are kept, from `offset` on, as they are now. */
  async output(
    sandboxId: string,
    commandId: string,
    stream: OutputStream,
    options: CallOptions & { offset?: number; limit?: number } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const query = { stream, offset: options.offset, limit: options.limit };
    const path = `${commandPath(sandboxId, commandId)}/output`;
    const response = await this.#transport.open({ method: 'GET', path, query }, options.signal);
    return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
  }
}

function outputOf({ stream, at, offset, text, base64 }: OutputEvent): CommandOutput {
  return { stream, at, offset, bytes: text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text) };
}

function commandsPath(sandboxId: string): string {
  return `${sandboxPath(sandboxId)}/commands`;
}

function commandPath(sandboxId: string, commandId: string): string {
  return `${commandsPath(sandboxId)}/${encodeURIComponent(commandId)}`;
}
