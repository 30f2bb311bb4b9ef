import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';
import { parseReadonlyCommand } from '../../model/readonly/readonly-command.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import { recordAccess } from '../audit/record-access.ts';
import { assertOk, type FilePath } from '../files/file-access.ts';
import type { ServiceDeps } from '../service-deps.ts';

type Deps = Pick<ServiceDeps, 'sagas' | 'guests'>;

const output = z.object({
  text: z.string().nullable().meta({ description: 'When it is UTF-8' }),
  base64: z.string().nullable().meta({ description: 'When it is not' }),
  truncated: z.boolean(),
});
export const sourceCommandResult = z
  .object({
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    timedOut: z.boolean(),
    stdout: output,
    stderr: output,
    durationMs: z.int(),
  })
  .meta({ id: 'SourceCommandResult' });

interface SourceInspection {
  source: SourceAccess;
  actor: Actor;
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
}

/** Parses a read-only command. @throws MayflyError readonly_refused with the position and the reason */
export function readableCommand(text: string): ReadonlyCommand {
  const read = parseReadonlyCommand(text);
  if ('command' in read) return read.command;
  const { position, reason } = read.refusal;
  const problem = position === null ? reason : `at ${position}: ${reason}`;
  const fields = [{ field: 'command', problem }];
  throw new MayflyError('readonly_refused', `The command was not run: ${problem}.`, { fields });
}

interface SourceCommand extends ReadonlyCommand {
  /** Command text as sent. */
  text: string;
  isRepeated: boolean;
  timeoutSeconds: number;
  maxOutputBytes: number;
}

/** Runs a read-only command on a prepared source, after the audit has recorded it. @throws MayflyError of the guest */
export async function runSourceCommand(
  deps: Deps,
  { source, actor, signal }: SourceInspection,
  { text, isRepeated, ...request }: SourceCommand,
): Promise<z.infer<typeof sourceCommandResult>> {
  const { id, hostId, name } = source;
  const detail = { source: name, command: text, ...(isRepeated && { repeated: true }) };
  await recordAccess(deps, id, { kind: 'source.command', actor, hostId, detail });
  const answer = await deps.guests.request(hostId, `/sources/${encodeURIComponent(name)}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new TextEncoder().encode(JSON.stringify(request)),
    signal,
  });
  return sourceCommandResult.parse(await (await assertOk(answer)).json());
}

/** Reads a file of a prepared source, after the audit has recorded it. @returns the host's response */
export async function readSourceFile(
  deps: Deps,
  { source, actor, signal }: SourceInspection,
  path: FilePath,
  range: string | undefined,
): Promise<Response> {
  const { id, hostId, name } = source;
  await recordAccess(deps, id, { kind: 'source.file', actor, hostId, detail: { source: name, path: path.encoded } });
  const target = `/sources/${encodeURIComponent(name)}/files?path=${path.base64url}`;
  return deps.guests.request(hostId, target, { headers: { ...(range && { range }) }, signal });
}
