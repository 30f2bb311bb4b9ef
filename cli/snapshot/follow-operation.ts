import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { StepPrinter, waitSignal } from '../sandbox/follow.ts';
import { CliError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** Follows one operation of a sandbox by its events, of which it must have seen the last one before the operation began. */
export class OperationWatch {
  private constructor(
    private readonly io: Io,
    private readonly client: MayflyClient,
    private readonly sandboxId: string,
    private readonly lastEventId: string,
    private readonly printer: StepPrinter,
  ) {}

  /** To be called before the operation is asked for. */
  static async begin(io: Io, client: MayflyClient, sandboxId: string): Promise<OperationWatch> {
    const { steps } = await client.getSandbox(sandboxId, { signal: io.signal });
    const { head } = await client.sandboxAudit(sandboxId, { limit: 1, signal: io.signal });
    const lastEventId = head ? String(head.count - 1) : '';
    return new OperationWatch(io, client, sandboxId, lastEventId, new StepPrinter(io, steps.length));
  }

  /**
   * Prints each step when it has ended, until one of the operation's own last events has come.
   * @param look where to see later what became of it
   * @returns that event; null when the sandbox has ended without it
   * @throws CliError when Ctrl-C came first, or `seconds` were over
   */
  async until(
    isEnd: (event: AuditEvent) => boolean,
    seconds: number,
    { what, look }: { what: string; look: string },
  ): Promise<AuditEvent | null> {
    const { io, client, sandboxId, lastEventId, printer } = this;
    const { signal } = waitSignal(io, seconds);
    try {
      for await (const { event, data } of client.sandboxEvents(sandboxId, {
        signal,
        lastEventId,
        deadlineSeconds: seconds,
      })) {
        if (event === 'sandbox') printer.show(JSON.parse(data) as Sandbox);
        if (event !== 'audit') continue;
        const told = JSON.parse(data) as AuditEvent;
        if (!isEnd(told)) continue;
        // Its steps are in the record by now, but the stream tells of the record after the events.
        printer.show(await client.getSandbox(sandboxId, { signal }));
        return told;
      }
      return null;
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new CliError(
        io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
        io.signal.aborted ? `Stopped watching ${what}` : `${what} has not ended after ${seconds} s`,
        'its saga goes on without anybody watching',
        `See \`${look}\`.`,
      );
    }
  }
}
