import scanner from './scanner-rules.json' with { type: 'json' };
import type { Span } from './span.ts';

interface Rule {
  pattern: RegExp;
  /** Group with the secret; undefined: the first non-empty group, else the whole match. */
  group: number | undefined;
}

/** Rules of a known secret scanner; scripts/secret-rules.py names it and generates them. */
const RULES = new Map<string, Rule[]>();
for (const { keywords, pattern, group } of scanner.rules) {
  const rule = { pattern: new RegExp(pattern, 'g'), group };
  for (const keyword of keywords) RULES.set(keyword, [...(RULES.get(keyword) ?? []), rule]);
}

/** Longest first, so that a keyword that starts with another includes the other's rules. */
const KEYWORDS = [...RULES.keys()].sort((a, b) => b.length - a.length);
const OF_KEYWORD = new Map(
  KEYWORDS.map((found) => [
    found,
    KEYWORDS.filter((each) => found.startsWith(each)).flatMap((each) => RULES.get(each) ?? []),
  ]),
);
const ANY_KEYWORD = new RegExp(
  `(?=(${KEYWORDS.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')}))`,
  'g',
);

/** Finds secrets by the scanner's rules. A rule runs only when one of its keywords is in the text. */
export function findScannerSecrets(text: string): Span[] {
  const rules = new Set<Rule>();
  for (const [, keyword = ''] of text.toLowerCase().matchAll(ANY_KEYWORD)) {
    for (const rule of OF_KEYWORD.get(keyword) ?? []) rules.add(rule);
  }
  return [...rules].flatMap((rule) => spansOf(text, rule));
}

function spansOf(text: string, { pattern, group }: Rule): Span[] {
  return [...text.matchAll(pattern)].map((found) => {
    const groups = group === undefined ? found.slice(1) : [found[group]];
    const secret = groups.find(Boolean) ?? found[0];
    const start = found.index + found[0].lastIndexOf(secret);
    return { start, end: start + secret.length };
  });
}
