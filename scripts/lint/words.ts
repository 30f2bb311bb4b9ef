import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Comment, lineComments, type Passage, paragraphs, proseOfTypeScript } from './words/prose.ts';
import {
  countWords,
  findDialect,
  firstSentenceLength,
  hasBadOpening,
  isBareParticiple,
  LONGEST_FIRST_SENTENCE,
} from './words/rules.ts';

/**
 * Holds ../shared/words.md: counts what breaks its rules, and fails when a count rises. `--list RULE [PATH]` names the places,
 * `--write` records lower counts.
 *
 * @module
 */

const recorded = new URL('./words/counts.json', import.meta.url);
const [flag, rule = '', under = '.'] = process.argv.slice(2);
const RULES = [
  'dialectInComments',
  'dialectInTexts',
  'dialectInTitles',
  'dialectInPages',
  'openings',
  'longOpenings',
  'participles',
  'names',
];
const findings = new Map<string, string[]>(RULES.map((name) => [name, []]));
const words = { comments: 0, pages: 0 };

function find(name: string, path: string, line: number, text: string): void {
  findings.get(name)?.push(`${path}:${line}: ${text.replaceAll(/\s+/g, ' ').slice(0, 160)}`);
}

function findWords(name: string, path: string, { line, text }: Passage): void {
  for (const word of findDialect(text)) find(name, path, line, `${word}: ${text}`);
}

function readComments(path: string, comments: readonly Comment[]): void {
  for (const comment of comments) {
    const { line, text, isDoc } = comment;
    words.comments += countWords(text);
    findWords('dialectInComments', path, comment);
    if (isDoc && hasBadOpening(text)) find('openings', path, line, text);
    if (isDoc && firstSentenceLength(text) > LONGEST_FIRST_SENTENCE) find('longOpenings', path, line, text);
  }
}

function readTypeScript(path: string, source: string): void {
  const { comments, texts, titles, functions } = proseOfTypeScript(path, source);
  readComments(path, comments);
  for (const text of texts) findWords('dialectInTexts', path, text);
  for (const { line, text } of titles) if (findDialect(text).length > 0) find('dialectInTitles', path, line, text);
  for (const { line, name } of functions) if (isBareParticiple(name)) find('participles', path, line, name);
}

function readPage(path: string, source: string): void {
  for (const line of paragraphs(source)) {
    words.pages += countWords(line.text);
    findWords('dialectInPages', path, line);
  }
}

function readHashComments(path: string, source: string): void {
  readComments(path, lineComments(source, /^\s*# (.*)$/));
}

const READERS: Record<string, (path: string, source: string) => void> = {
  ts: readTypeScript,
  mjs: readTypeScript,
  go: (path, source) => readComments(path, lineComments(source, /^\s*\/\/ (.*)$/)),
  sh: readHashComments,
  py: readHashComments,
  md: readPage,
};

// Files that are new are read too; files that were removed are listed until that is staged.
const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', under];
for (const path of execFileSync('git', listed, { encoding: 'utf8' }).trim().split('\n').filter(existsSync)) {
  const isOwn = path.startsWith('scripts/lint/words') || path === 'test/scripts/words.test.ts';
  if (!isOwn) READERS[path.split('.').at(-1) ?? '']?.(path, readFileSync(path, 'utf8'));
}
// Renames that are still to be done; a row is done when its file no longer has the old name.
for (const row of readFileSync(new URL('./words/names.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')) {
  const [path = '', oldName = '', newName = '', kind] = row.split('\t');
  if (!existsSync(path)) continue;
  const isLeft = kind === 'file' || new RegExp(`(?<![\\w$])${oldName}(?![\\w$])`).test(readFileSync(path, 'utf8'));
  if (isLeft) find('names', path, 1, `${oldName} → ${newName}`);
}
const counts = Object.fromEntries([...findings].map(([name, found]) => [name, found.length]));
if (flag === '--list') console.log(findings.get(rule)?.join('\n') ?? `rules: ${RULES.join(', ')}`);
else if (flag === '--write') writeFileSync(recorded, `${JSON.stringify(counts, null, 2)}\n`);
else {
  const before = JSON.parse(readFileSync(recorded, 'utf8')) as Record<string, number>;
  for (const [name, count = 0] of Object.entries(counts)) {
    if (count <= (before[name] ?? 0)) continue;
    console.error(`words: ${name} rose to ${count}; see: npm run words -- --list ${name}`);
    process.exitCode = 1;
  }
  console.log(JSON.stringify({ ...counts, words }));
}
