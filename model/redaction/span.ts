export const REDACTED = '[redacted]';

/** Where a secret stands in a text: UTF-16 offsets, `end` is behind it. */
export interface Span {
  start: number;
  end: number;
}

/** The text with {@link REDACTED} in the place of each span; spans that overlap become one. */
export function withoutSpans(text: string, spans: readonly Span[]): string {
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
