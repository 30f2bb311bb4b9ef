import { stripVTControlCharacters } from 'node:util';
import { ApprovalNeededError, MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import { ERRORS, type ErrorCode } from '../../model/errors.ts';
import { findSecrets } from '../../model/redaction/redact.ts';
import { redactSpans } from '../../model/redaction/span.ts';

/** Characters to remove: C0 and C1 except tab and line feed, changes of text direction (UAX #9), and invisible ones. */
const INVISIBLE =
  /(?![\t\n])\p{Cc}|[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Returns a guest's text for a model: without escape sequences and invisible characters. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replaceAll('\r', '\n').replaceAll(INVISIBLE, '');
}

/** Returns {@link cleanText} without recognizable secrets. */
export function maskText(text: string): string {
  return maskPart('', text, '');
}

/** Masks secrets in a part of a text, also those that continue before or after it. */
export function maskPart(before: string, part: string, after: string): string {
  const [head, middle, tail] = [cleanText(before), cleanText(part), cleanText(after)];
  const [start, end] = [head.length, head.length + middle.length];
  const spans = findSecrets(head + middle + tail)
    .filter((span) => span.end > start && span.start < end)
    .map((span) => ({ start: Math.max(span.start, start) - start, end: Math.min(span.end, end) - start }));
  return redactSpans(middle, spans);
}

/** Remedies for a model, where they differ from a person's. */
const NEXT: Partial<Record<ErrorCode, (prefix: string) => string>> = {
  sandbox_not_found: (prefix) => `Call ${prefix}list with kind "sandboxes" for those there are.`,
  sandbox_ended: (prefix) => `It is gone. Call ${prefix}create_sandbox for another one.`,
  source_not_found: (prefix) => `Call ${prefix}list with kind "sources" for those there are.`,
  snapshot_not_found: (prefix) => `Call ${prefix}list with kind "snapshots" and a sandbox for those there are.`,
  command_not_found: (prefix) => `Call ${prefix}list with kind "commands" and a sandbox for those there are.`,
  approval_refused: () => 'Ask for something else, with another idempotencyKey, or do without it.',
  approval_stale: () => 'Call again with another idempotencyKey: then it is asked for as it is now.',
  approval_decided: () => 'To ask again takes another idempotencyKey.',
  idempotency_key_reused: () => 'Use another idempotencyKey for another request.',
  idempotency_key_required: () => 'Call again with an idempotencyKey of your own.',
  invalid_request: () => 'Mend the arguments that are named above.',
  port_not_open: (prefix) => `Open it with ${prefix}expose_port.`,
  sandbox_not_running: (prefix) => `Wait until it is running: ${prefix}get_sandbox says so.`,
  sandbox_suspended: (prefix) => `Call ${prefix}resume first.`,
  too_many_requests: () => 'Wait, then call again.',
  file_not_found: (prefix) => `Call ${prefix}list_files on the directory above for what there is.`,
  invalid_id: (prefix) => `Use an id or a name as ${prefix}list gives it.`,
};

/** Formats an error and its remedy for a model. */
export function errorText(error: unknown, prefix: string): string {
  if (error instanceof MayflyApiError) {
    const { code, problem } = error;
    const fields = (problem.errors ?? []).map(({ field, problem: why }) => `${field}: ${why}`);
    const retry = error.retryable ? [`It may be tried again${after(error.retryAfterSeconds)}.`] : [];
    const next = NEXT[code]?.(prefix) ?? plainRemedy(ERRORS[code].remedy);
    const lines = [
      `${code}: ${error.message.replaceAll('Idempotency-Key', 'idempotencyKey')}`,
      ...fields,
      `Next: ${next}`,
      ...retry,
    ];
    return maskText(lines.join('\n'));
  }
  if (error instanceof ApprovalNeededError) {
    const { approval, idempotencyKey, message } = error;
    const again = `call this again with the same arguments and idempotencyKey "${idempotencyKey}"`;
    const next = `tell your user what waits, then look with ${prefix}get_approval; when it is approved, ${again}`;
    return maskText(`Nothing was begun: ${message}. It expires at ${approval.expiresAt}.\nNext: ${next}.`);
  }
  if (error instanceof MayflyConnectionError) {
    return maskText(`${error.message}\nNext: try again; what is sent again with the same idempotencyKey is done once.`);
  }
  if (error instanceof ToolError) return maskText(`${error.message}\nNext: ${error.next}`);
  throw error;
}

/** Omits sentences about HTTP from a remedy: a tool has no headers, paths and members of problems. */
function plainRemedy(remedy: string): string {
  const said = remedy
    .replaceAll(/what `(?:detail|message|errors)` names/g, 'what is named above')
    .replaceAll(/`(?:detail|message|errors)`/g, 'the message above');
  const plain = said.split(/(?<=[.;]) /).filter((sentence) => !OF_HTTP.test(sentence));
  const text = plain.join(' ').replace(/;$/, '.') || 'Mend what it says above, or tell your user.';
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Methods and paths, headers, and names of JSON fields. */
const OF_HTTP =
  /\b(?:GET|HEAD|POST|PUT|PATCH|DELETE) \/|\/v1\/|Idempotency-Key|Retry-After|Content-Type|Authorization|Prefer|If-Match|ETag|X-Mayfly-|\bHTTP\b|[Hh]eaders?\b|`[a-z]+[A-Za-z.]*`/;

function after(seconds: number | null): string {
  return seconds === null ? '' : ` after ${seconds} s`;
}

/** Error that a tool itself raises. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  constructor(
    message: string,
    /** Remedy. */
    readonly next: string,
  ) {
    super(message);
  }
}
