export const REDACTED = '[redacted]';

/** Range of a secret in a text: UTF-16 offsets, `end` exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Replaces each span with {@link REDACTED}; overlapping spans become one. */
export function redactSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let kept = '';
  let at = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= at || start === end) continue;
    if (start >= at && !text.startsWith(REDACTED, start)) kept += text.slice(at, start) + REDACTED;
    else if (start >= at) kept += text.slice(at, end);
    at = end;
  }
  return kept + text.slice(at);
}
