import { stripVTControlCharacters } from 'node:util';
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
