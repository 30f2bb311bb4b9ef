import type { Hook } from '../../clients/typescript/http/openapi.ts';
import { recordLines } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';

export const HOOK_HEADER = ['ID', 'FUNCTION', 'SCHEME', 'STATE', 'CREATED'];

export function hookRow({ id, function: name, scheme, disabledAt, createdAt }: Hook): string[] {
  return [id, name, scheme, disabledAt === null ? 'takes events' : 'disabled', createdAt];
}

/** A hook as a person reads it. @param apiUrl where senders reach it, unless it says otherwise */
export function hookLines(io: Io, hook: Hook, apiUrl: string): string[] {
  const { hmac, filter, allowedOrigins, disabledAt, secretCount } = hook;
  const fields: [string, string][] = [
    ['URL', hook.url ?? new URL(hook.path, apiUrl).href],
    ['function', hook.function],
    ['scheme', hmac === null ? hook.scheme : hmacText(hmac)],
    ['secrets', secretCount === 1 ? '1' : `${secretCount}: one is rotated`],
    ['filter', filter === null ? 'none: all events are run' : JSON.stringify(filter)],
    ['state', disabledAt === null ? 'takes events' : `disabled since ${disabledAt}`],
    ['created', hook.createdAt],
  ];
  if (allowedOrigins.length > 0) fields.push(['origins', allowedOrigins.join(', ')]);
  return recordLines(io, hook.id, fields);
}

function hmacText({ algorithm, encoding, header, prefix, timestampHeader }: NonNullable<Hook['hmac']>): string {
  const after = prefix ? ` after ${prefix}` : '';
  const time = timestampHeader ? `, with the time of ${timestampHeader}` : '';
  return `hmac, ${algorithm} as ${encoding} in ${header}${after}${time}`;
}
