import type { Lines } from './lines.ts';
import { unsupportedAt } from './refusal.ts';
import { expandWord, type ParseContext, splitWords } from './words.ts';

/** Lines after an instruction, up to the delimiter. */
export interface Heredoc {
  /** Redirection as written, `<<-EOF`. */
  word: string;
  name: string;
  content: string;
  /** True when variables in the content are replaced: no part of the delimiter is quoted. */
  expands: boolean;
  /** True for `<<-`: leading tabs are stripped. */
  isIndented: boolean;
}

/** Heredocs of one instruction: each becomes an argument of a program. */
const MOST_HEREDOCS = 100;
const HEREDOC = /^(\d*)<<(-?)([^<]*)$/;

/**
 * Reads the heredocs that an instruction declares from the lines after it.
 * @throws MayflyError dockerfile_unsupported
 */
export function readHeredocs(text: string, reading: ParseContext, lines: Lines): Heredoc[] {
  if (!text.includes('<<')) return [];
  const found: Heredoc[] = [];
  for (const word of splitWords(text, reading)) {
    const [, descriptor = '', dash, quoted = ''] = HEREDOC.exec(word) ?? [];
    if (quoted === '') continue;
    if (found.length === MOST_HEREDOCS)
      throw unsupportedAt(reading.line, `there are more than ${MOST_HEREDOCS} heredocs`);
    const name = expandWord(quoted.replaceAll('$', '\\$'), {}, { ...reading, escaper: '\\' });
    const isIndented = dash === '-';
    const content = contentOf(name, isIndented, reading, lines);
    if (descriptor !== '' && descriptor !== '0')
      throw unsupportedAt(reading.line, `a heredoc of descriptor ${descriptor}`);
    found.push({ word, name, content, expands: name === quoted, isIndented });
  }
  return found;
}

function contentOf(name: string, isIndented: boolean, { line }: ParseContext, lines: Lines): string {
  let content = '';
  for (let next = lines.next(); next !== null; next = lines.next()) {
    if ((isIndented ? next.replace(/^\t+/, '') : next) === name) return content;
    content += `${next}\n`;
  }
  throw unsupportedAt(line, `the heredoc ${JSON.stringify(name)} does not end`);
}

/** Returns the content; without leading tabs for `<<-`. */
export function heredocText({ content, isIndented }: Heredoc): string {
  return isIndented ? content.replace(/^\t+/gm, '') : content;
}
