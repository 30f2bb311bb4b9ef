import type { CallOptions } from '../http/deadline.ts';
import type {
  Command,
  FileEntry,
  PatchSandbox,
  Sandbox as SandboxRecord,
  Snapshot,
  StartCommand,
  TakeSnapshot,
} from '../http/openapi.ts';
import type { WaitOptions } from '../http/resource.ts';
import type { PostOptions } from '../http/transport.ts';
import type { MayflyClient } from '../mayfly-client.ts';
import type { Content, GuestPath, WriteOptions } from '../sandbox/files.ts';
import { RunningCommand } from './running-command.ts';

/** Shell command line, program with its arguments, or a whole request. */
export type CommandInput = string | readonly string[] | StartCommand;

/** Ended command, with the retained part of its output. */
export interface CommandResult {
  /** Null when it did not exit on its own; `command.outcome` has the reason. */
  exitCode: number | null;
  /** Text, with U+FFFD for bytes that are not UTF-8; `bytes` has the original ones. */
  stdout: string;
  stderr: string;
  bytes: { stdout: Uint8Array; stderr: Uint8Array };
  command: Command;
}

/** Entries of a directory in one page. */
const PAGE = 1_000;

/** Sandbox, destroyed at the end of an `await using` block. Throws as {@link MayflyClient} does. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly #client: MayflyClient;
  #record: SandboxRecord;

  constructor(client: MayflyClient, record: SandboxRecord) {
    this.#client = client;
    this.#record = record;
    this.id = record.id;
  }

  /** Last received record; {@link Sandbox.refresh} reads it again. */
  get record(): SandboxRecord {
    return this.#record;
  }

  async refresh(options: CallOptions = {}): Promise<SandboxRecord> {
    this.#record = await this.#client.getSandbox(this.id, options);
    return this.#record;
  }

  /** Runs a command, and returns when it has ended. An abort of the wait (its signal) does not end it. */
  async run(what: CommandInput, options: PostOptions = {}): Promise<CommandResult> {
    const started = await this.#client.commands.run(this.id, toRequest(what), options);
    const command = await new RunningCommand(this.#client, started).ended(options);
    const [stdout, stderr] = await Promise.all([
      this.#kept(command, 'stdout', options),
      this.#kept(command, 'stderr', options),
    ]);
    const text = new TextDecoder('utf-8', { ignoreBOM: true });
    return {
      exitCode: command.exitCode,
      stdout: text.decode(stdout),
      stderr: text.decode(stderr),
      bytes: { stdout, stderr },
      command,
    };
  }

  /** Starts a command, and returns when that is recorded: to read its output live, or to write to it. */
  async start(what: CommandInput, options: PostOptions = {}): Promise<RunningCommand> {
    const begun = await this.#client.commands.run(this.id, toRequest(what), { ...options, waitSeconds: 0 });
    return new RunningCommand(this.#client, begun);
  }

  /** Returns a whole file; {@link Files.read} streams it. */
  async readFile(path: GuestPath, options: CallOptions & { first?: number; last?: number } = {}): Promise<Uint8Array> {
    const { body } = await this.#client.files.read(this.id, path, options);
    return new Uint8Array(await new Response(body).arrayBuffer());
  }

  /** Replaces or creates a file. Not retried: if a stream fails half-way, the file stays as it was. */
  writeFile(path: GuestPath, content: string | Content, options: WriteOptions = {}): Promise<FileEntry> {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    return this.#client.files.write(this.id, path, bytes, options);
  }

  /**
   * Yields all entries of a directory by name, in pages that are fetched while reading. @param options `pageSize`:
   * `@default` 1,000
   */
  async *listFiles(
    path: GuestPath,
    { pageSize = PAGE, ...options }: CallOptions & { pageSize?: number } = {},
  ): AsyncGenerator<FileEntry, void, undefined> {
    let cursor: string | null | undefined;
    do {
      const query = { ...options, limit: pageSize, ...(cursor && { cursor }) };
      const page = await this.#client.files.list(this.id, path, query);
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor);
  }

  snapshot(request: TakeSnapshot = {}, options: WaitOptions & PostOptions = {}): Promise<Snapshot> {
    return this.#client.snapshots.take(this.id, request, options);
  }

  /** Restores one of its own snapshots. */
  async restore(snapshotId: string, options: WaitOptions & PostOptions = {}): Promise<SandboxRecord> {
    this.#record = (await this.#client.snapshots.restore(this.id, { snapshotId }, options)).sandbox;
    return this.#record;
  }

  /** Changes its end, and its other mutable settings. */
  async extend(change: PatchSandbox, options: CallOptions = {}): Promise<SandboxRecord> {
    this.#record = await this.#client.extendSandbox(this.id, change, options);
    return this.#record;
  }

  /**
   * Returns the record: `destroyed` with its proof, or `destroying` when the wait ended first, which then continues.
   */
  async destroy(options: WaitOptions & CallOptions = {}): Promise<SandboxRecord> {
    this.#record = await this.#client.destroySandbox(this.id, options);
    return this.#record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  async #kept(command: Command, stream: 'stdout' | 'stderr', { signal }: CallOptions): Promise<Uint8Array> {
    if (command[stream].kept === 0) return new Uint8Array();
    const output = await this.#client.commands.output(this.id, command.id, stream, signal ? { signal } : {});
    return new Uint8Array(await new Response(output).arrayBuffer());
  }
}

function toRequest(what: CommandInput): StartCommand {
  if (typeof what === 'string') return { command: what };
  return 'length' in what ? { argv: [...what] } : what;
}
