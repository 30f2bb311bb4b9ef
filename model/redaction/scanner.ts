import scanner from './scanner-rules.json' with { type: 'json' };
import type { Span } from './span.ts';

interface Rule {
  pattern: RegExp;
  /** Which group is the secret; undefined: the first that holds something, else all of it. */
  group: number | undefined;
}

/** Of a known secret scanner: scripts/secret-rules.py says which and how they are brought here. */
const RULES = new Map<string, Rule[]>();
for (const { keywords, pattern, group } of scanner.rules) {
  const rule = { pattern: new RegExp(pattern, 'g'), group };
  for (const keyword of keywords) RULES.set(keyword, [...(RULES.get(keyword) ?? []), rule]);
}

/** The longest first, so that each that begins with another brings the other's rules too. */
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

/** What a secret scanner's rules find. A rule is tried where one of its keywords is in the text. */
export function spansOfScanner(text: string): Span[] {
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
