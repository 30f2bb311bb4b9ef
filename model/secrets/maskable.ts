/** Minimum length of a masked secret, characters; shorter texts occur in every log. */
const SHORTEST_MASKED = 4;
/** Minimum length of masked words and numbers, characters; shorter ones occur in many logs. */
const LIKELY_WORD = 8;

/** Common words of logs, never masked. */
const COMMON = new Set(
  `true false null none undefined yes no on off error warn warning info debug trace fatal success failed failure enabled disabled
   default unknown localhost 127.0.0.1 0.0.0.0 admin root user username password passwd secret token changeme production
   development staging testing sandbox example database postgres mongodb`.split(/\s+/),
);

/** Explains why a secret is not masked: masking it would make logs useless. @returns null when it is masked */
export function getUnmaskedReason(value: string): string | null {
  const text = value.trim();
  const length = Array.from(text).length;
  if (length < SHORTEST_MASKED) return `it has less than ${SHORTEST_MASKED} characters`;
  if (isCommon(text)) return 'it is a common word';
  if (length < LIKELY_WORD && /^(?:[A-Z]?[a-z]+|[A-Z]+)$/.test(text)) {
    return `it is a word of less than ${LIKELY_WORD} letters`;
  }
  if (length < LIKELY_WORD && /^[+-]?[\d.,_]+$/.test(text)) {
    return `it is a number of less than ${LIKELY_WORD} characters`;
  }
  if (new Set(text).size === 1) return 'it is one character many times';
  return null;
}

/** True when a single line of a secret is masked. */
export function isMaskedLine(line: string): boolean {
  return Array.from(line).length >= SHORTEST_MASKED && !isCommon(line) && new Set(line).size > 1;
}

function isCommon(text: string): boolean {
  return COMMON.has(text.toLowerCase());
}
