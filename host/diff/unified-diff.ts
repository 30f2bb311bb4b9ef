import { createTwoFilesPatch, OMIT_HEADERS } from 'diff';

/** Limit of differing lines for a minimal diff. */
const MAX_EDITS = 1_000;
const NO_NEWLINE = '\\ No newline at end of file\n';

/**
 * Returns the difference of two texts in the unified format of diff(1), which patch(1) takes; empty when they are
 * equal. Minimal up to 1,000 differing lines; beyond, it replaces the whole first text by the second, since guests
 * could choose texts that take long.
 * @param labels after `---` and `+++`: one line each
 */
export function unifiedDiff(before: string, after: string, labels: { before: string; after: string }): string {
  if (before === after) return '';
  const options = { context: 3, headerOptions: OMIT_HEADERS, maxEditLength: MAX_EDITS };
  const hunks =
    createTwoFilesPatch('', '', before, after, undefined, undefined, options) ?? formatReplacement(before, after);
  return `--- ${labels.before}\n+++ ${labels.after}\n${hunks}`;
}

function formatReplacement(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines = [...old.map((line) => prefixLine('-', line)), ...now.map((line) => prefixLine('+', line))];
  return `@@ -${rangeOf(old)} +${rangeOf(now)} @@\n${lines.join('')}`;
}

/** Splits after each newline; the last line may lack one. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function rangeOf({ length }: string[]): string {
  return `${length === 0 ? 0 : 1},${length}`;
}

function prefixLine(sign: string, line: string): string {
  return line.endsWith('\n') ? sign + line : `${sign}${line}\n${NO_NEWLINE}`;
}
