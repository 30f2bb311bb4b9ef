import { stripVTControlCharacters } from 'node:util';
import { ApprovalNeededError, MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import { ERRORS, type ErrorCode } from '../../model/errors.ts';
import { secretSpans } from '../../model/redaction/redact.ts';
import { withoutSpans } from '../../model/redaction/span.ts';

/** C0 and C1 but tab and line feed; what turns the direction of text (UAX #9), and what is shown as nothing at all. */
const UNSEEN =
  /(?![\t\n])\p{Cc}|[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text of a guest as a model may read it: without escape sequences, and without characters that nobody sees. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replaceAll('\r', '\n').replaceAll(UNSEEN, '');
}

/** As {@link cleanText}, and without the secrets that can be recognised. */
export function maskText(text: string): string {
  return maskPart('', text, '');
}

/** A part of a text; what stands around it tells of a secret that the part holds a piece of. */
export function maskPart(before: string, part: string, after: string): string {
  const [head, middle, tail] = [cleanText(before), cleanText(part), cleanText(after)];
  const [start, end] = [head.length, head.length + middle.length];
  const spans = secretSpans(head + middle + tail)
    .filter((span) => span.end > start && span.start < end)
    .map((span) => ({ start: Math.max(span.start, start) - start, end: Math.min(span.end, end) - start }));
  return withoutSpans(middle, spans);
}

/** What a model can do about an error, where it is another thing than what a person does. */
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

/** What happened, and what to do next, as a model reads it. */
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

/** What a remedy says that is not of HTTP: a tool has no headers, paths and members of problems. */
function plainRemedy(remedy: string): string {
  const said = remedy
    .replaceAll(/what `(?:detail|message|errors)` names/g, 'what is named above')
    .replaceAll(/`(?:detail|message|errors)`/g, 'the message above');
  const plain = said.split(/(?<=[.;]) /).filter((sentence) => !OF_HTTP.test(sentence));
  const text = plain.join(' ').replace(/;$/, '.') || 'Mend what it says above, or tell your user.';
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Methods and paths, headers, and names of fields of our JSON. */
const OF_HTTP =
  /\b(?:GET|HEAD|POST|PUT|PATCH|DELETE) \/|\/v1\/|Idempotency-Key|Retry-After|Content-Type|Authorization|Prefer|If-Match|ETag|X-Mayfly-|\bHTTP\b|[Hh]eaders?\b|`[a-z]+[A-Za-z.]*`/;

function after(seconds: number | null): string {
  return seconds === null ? '' : ` after ${seconds} s`;
}

/** What a tool refuses itself. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  constructor(
    message: string,
    /** What to do about it. */
    readonly next: string,
  ) {
    super(message);
  }
}
