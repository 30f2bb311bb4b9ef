import { isSandboxId } from '../../../model/sandbox-id.ts';
import type { CallOptions } from '../http/deadline.ts';
import { type EventStreamOptions, followEvents } from '../http/event-stream.ts';
import type { Command, CommandOutput as OutputEvent } from '../http/openapi.ts';
import { Resource, sandboxPath } from '../http/resource.ts';

type OutputStream = OutputEvent['stream'];

/** Piece of output, in the order in which the command wrote it. */
export interface CommandOutput {
  stream: OutputStream;
  /** ISO 8601, by the guest's clock. */
  at: string;
  /** Offset of its first byte in its stream. */
  offset: number;
  bytes: Uint8Array;
}

/** Commands in sandboxes. */
export class Commands extends Resource {
  /**
   * Starts a command once, however often the request is sent. Returns it as `ended`, or in an earlier state when the
   * wait ended first.
   */
  readonly run = this.send('POST /v1/sandboxes/{id}/commands');
  readonly list = this.ask('GET /v1/sandboxes/{id}/commands');
  readonly get = this.ask('GET /v1/sandboxes/{id}/commands/{commandId}');

  /** Ends its whole process tree: the signal, SIGTERM, then SIGKILL. @param options.endSignal `@default` SIGTERM */
  cancel(
    sandboxId: string,
    commandId: string,
    { endSignal, ...options }: CallOptions & { endSignal?: 'SIGTERM' | 'SIGPIPE' } = {},
  ): Promise<Command> {
    const path = `${commandPath(sandboxId, commandId)}/cancel`;
    return this.transport.json({ method: 'POST', path, query: { signal: endSignal } }, options);
  }

  /**
   * Adds to standard input. Not retried; after a lost answer, the same offset again reveals how much arrived.
   * @param offset bytes written before
   * @returns offset to continue from
   */
  async writeStdin(
    sandboxId: string,
    commandId: string,
    bytes: Uint8Array,
    options: CallOptions & { offset: number; close?: boolean },
  ): Promise<{ offset: number }> {
    const query = { offset: options.offset, ...(options.close && { close: 'true' }) };
    const path = `${commandPath(sandboxId, commandId)}/stdin`;
    return this.transport.jsonOnce({ method: 'POST', path, query, bytes }, options);
  }

  /** Yields its output from the beginning, live while it runs, then `ended`, across broken connections. */
  async *follow(
    idOrName: string,
    commandId: string,
    options: EventStreamOptions = {},
  ): AsyncGenerator<CommandOutput | { ended: Command }, void, undefined> {
    const call = options.signal ? { signal: options.signal } : {};
    const sandboxId = isSandboxId(idOrName) ? idOrName : (await this.get(idOrName, commandId, call)).sandboxId;
    let isOver = false;
    const path = `${commandPath(sandboxId, commandId)}/events`;
    for await (const { event, data } of followEvents(this.transport, path, async () => isOver, options)) {
      if (event === 'output') yield outputOf(JSON.parse(data) as OutputEvent);
      if (event !== 'ended') continue;
      isOver = true;
      yield { ended: await this.get(sandboxId, commandId, call) };
      return;
    }
  }

  /** Returns the retained bytes of one stream, from `offset` on, as of now. */
  async output(
    sandboxId: string,
    commandId: string,
    stream: OutputStream,
    options: CallOptions & { offset?: number; limit?: number } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const query = { stream, offset: options.offset, limit: options.limit };
    const path = `${commandPath(sandboxId, commandId)}/output`;
    const response = await this.transport.open({ method: 'GET', path, query }, options.signal);
    return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
  }
}

function outputOf({ stream, at, offset, text, base64 }: OutputEvent): CommandOutput {
  return { stream, at, offset, bytes: text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text) };
}

function commandPath(sandboxId: string, commandId: string): string {
  return `${sandboxPath(sandboxId)}/commands/${encodeURIComponent(commandId)}`;
}
