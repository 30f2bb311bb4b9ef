import type { SourceAccess } from '../../clients/typescript/http/openapi.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** Whether a source can be looked at, and what that changed on it. */
export function accessLines(io: Io, access: SourceAccess): string[] {
  const { state, hostId, sshd, changes, preparedAt, preparedBy, failure, waitingFor } = access;
  return [
    `${io.paint('bold', access.name)} on ${printable(hostId)}: ${state}`,
    ...(preparedAt && preparedBy ? [`  by ${printable(preparedBy.apiKeyId)} at ${printable(preparedAt)}`] : []),
    ...(sshd && state === 'prepared' ? [`  host key ${printable(sshd.hostKey)} (${printable(sshd.version)})`] : []),
    ...changes.map((change) => `  changed: ${printable(change)}`),
    ...(failure ? [`  last failure: ${printable(failure.step)}: ${printable(failure.message)}`] : []),
    ...(waitingFor ? [`  waiting for ${printable(waitingFor)}`] : []),
  ];
}
