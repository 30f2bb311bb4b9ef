import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { sandboxLines } from '../sandbox/sandbox-text.ts';
import { flag, idOrName, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { exitCodeOfCode } from '../terminal/exit-codes.ts';
import { OperationWatch } from './follow-operation.ts';
import { findSnapshotId, snapshotIdOrName } from './named.ts';

/** `mayfly restore`: the sandbox runs again when it ends; says how to undo it. */
export const restoreCommand = command({
  args: {
    id: positional('Id or name of a sandbox'),
    snapshot: positional('Id or name of one of its snapshots'),
    'drop-current': flag('Do not keep the state that is left'),
    ...WAIT_OPTION,
  },
  async call({ io, args, connect, options }) {
    const named = idOrName(args.id);
    snapshotIdOrName(args.snapshot);
    const seconds = waitSeconds(args.wait);
    const client = connect();
    const id = await client.sandboxIdOf(named, options);
    const snapshotId = await findSnapshotId(client, args.snapshot, io.signal, id);
    const request = { snapshotId, keepCurrent: !args['drop-current'] };
    const watch = await OperationWatch.begin(io, client, id);
    const accepted = await client.snapshots.restore(id, request, { waitSeconds: 0, signal: io.signal });
    io.note(`${id} back to ${request.snapshotId}`);
    const isEnd = ({ kind, detail }: AuditEvent) =>
      (kind === 'sandbox.restored' || kind === 'sandbox.restore-failed') &&
      detail['operationId'] === accepted.operationId;
    const end = await watch.until(isEnd, seconds, { what: `The restore of ${id}`, look: `mayfly sandbox get ${id}` });
    if (end?.kind !== 'sandbox.restored') throw notRestored(id, end);
    const sandbox = await client.getSandbox(id, options);
    return { ...accepted, sandbox };
  },
  print(io, { sandbox, keptAs }) {
    for (const line of sandboxLines(io, sandbox)) io.print(line);
    if (keptAs) io.note(`what was left is ${keptAs}: mayfly restore ${sandbox.id} ${keptAs}`);
  },
});

function notRestored(id: string, end: AuditEvent | null): CliError {
  const { code, step, message } = Object(end?.detail['failure']) as Record<string, unknown>;
  const exitCode = exitCodeOfCode(String(code));
  const why = end ? `${String(step)}: ${String(message)} (${String(code)})` : 'the sandbox has ended';
  const remedy = `See \`mayfly sandbox get ${id}\` for what it is now.`;
  return new CliError(exitCode, `${id} was not restored`, why, remedy);
}
