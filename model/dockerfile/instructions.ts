import { LIMITS } from '../limits.ts';
import { type Heredoc, readHeredocs } from './heredocs.ts';
import { Lines } from './lines.ts';
import type { IgnoredLine } from './plan.ts';
import { type Refusals, unsupportedAt } from './refusal.ts';
import { eachWord, type ParseContext, TextBudget } from './words.ts';

/** Instruction as written: lines joined, comments removed, variables not replaced. */
export interface Instruction extends ParseContext {
  keyword: string;
  /** `--name=value` before the arguments. */
  flags: { name: string; value: string | null }[];
  /** Arguments after the flags. */
  text: string;
  /** Arguments of the JSON form; null in the shell form. */
  json: string[] | null;
  heredocs: Heredoc[];
}

const DIRECTIVE = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=(.*)$/;
const SYNTAX = /^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;
const COMMENT = /^\s*#/;
const FLAG = /^--([A-Za-z][A-Za-z0-9-]*)(?:=(.*))?$/s;
const WITH_HEREDOC = new Set(['ADD', 'COPY', 'RUN']);
const WITH_JSON = new Set(['ADD', 'CMD', 'COPY', 'ENTRYPOINT', 'RUN', 'SHELL', 'VOLUME']);
const KEYWORDS = new Set(
  (
    'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER ' +
    'VOLUME WORKDIR'
  ).split(' '),
);

/**
 * Parses a Dockerfile like Docker's own parser: line by line, so that heredoc content is never read as an instruction.
 * @param refusals collects unsupported instructions; parsing continues
 * @throws MayflyError dockerfile_unsupported
 */
export function parseInstructions(dockerfile: string, refusals: Refusals, ignored: IgnoredLine[]): Instruction[] {
  const lines = new Lines(dockerfile.replace(/^\uFEFF/, '').split(/\r?\n/));
  const escaper = readDirectives(lines, ignored);
  const budget = new TextBudget();
  const found: Instruction[] = [];
  for (let line = lines.next(); line !== null; line = lines.next()) {
    if (COMMENT.test(line) || line.trim() === '') continue;
    const reading = { line: lines.number, escaper, budget };
    const text = joinContinuedLines(line, lines, escaper);
    const instruction = text.trim() === '' ? null : refusals.attempt(() => instructionOf(text, reading, lines));
    if (instruction) found.push(instruction);
    if (found.length > LIMITS.image.instructions) {
      throw unsupportedAt(reading.line, `there are more than ${LIMITS.image.instructions} instructions`);
    }
  }
  return found;
}

/**
 * Reads the directives: before anything else, each at most once. Any `syntax` image of docker/dockerfile is accepted.
 */
function readDirectives(lines: Lines, ignored: IgnoredLine[]): string {
  const seen = new Map<string, string>();
  for (let line = lines.next(); line !== null; line = lines.next()) {
    const [, key, said = ''] = DIRECTIVE.exec(line) ?? [];
    const value = said.trim();
    const name = key?.toLowerCase();
    if (name === undefined || !['escape', 'syntax', 'check'].includes(name)) {
      lines.back();
      break;
    }
    if (seen.has(name)) throw unsupportedAt(lines.number, `the directive ${name} is there twice`);
    seen.set(name, value);
    if (name === 'escape' && value !== '\\' && value !== '`')
      throw unsupportedAt(lines.number, 'escape is `\\` or "`"');
    if (name !== 'syntax' || /^docker\/dockerfile:1(?:\.\d+)*$/.test(value)) continue;
    if (!SYNTAX.test(value)) throw unsupportedAt(lines.number, `the syntax ${JSON.stringify(value)} is not known here`);
    ignored.push({ line: lines.number, text: `# syntax=${value}: read as docker/dockerfile:1` });
  }
  return seen.get('escape') ?? '\\';
}

/** Joins a line with its continuation lines; skips comments and empty lines between them. */
function joinContinuedLines(first: string, lines: Lines, escaper: string): string {
  let [text, goesOn] = stripContinuation(first.trimStart(), escaper);
  while (goesOn) {
    const line = lines.next();
    if (line === null) break;
    if (COMMENT.test(line) || line.trim() === '') continue;
    let more: string;
    [more, goesOn] = stripContinuation(line, escaper);
    text += more;
  }
  return text;
}

/** Strips a trailing escape character; two escapes are a literal one and no continuation. */
function stripContinuation(line: string, escaper: string): [text: string, goesOn: boolean] {
  let length = line.length;
  while (line[length - 1] === ' ' || line[length - 1] === '\t') length -= 1;
  const end = line.slice(0, length);
  const isContinued = end.endsWith(escaper) && !end.slice(0, -1).endsWith(escaper);
  return isContinued ? [end.slice(0, -1), true] : [line, false];
}

function instructionOf(all: string, reading: ParseContext, lines: Lines): Instruction {
  const [, word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(all.trim()) ?? [];
  const keyword = word.toUpperCase();
  if (!KEYWORDS.has(keyword)) throw unsupportedAt(reading.line, `${JSON.stringify(word)} is no instruction`);
  const { flags, text } = flagsOf(rest, reading);
  const json = WITH_JSON.has(keyword) ? parseJsonForm(text, reading) : null;
  const heredocs = WITH_HEREDOC.has(keyword) && json === null ? readHeredocs(text, reading, lines) : [];
  if (text === '') throw unsupportedAt(reading.line, `${keyword} says nothing`);
  return { ...reading, keyword, flags, text, json, heredocs };
}

function flagsOf(rest: string, reading: ParseContext): Pick<Instruction, 'flags' | 'text'> {
  const flags: Instruction['flags'] = [];
  let read = 0;
  for (const { word, end } of eachWord(rest, reading)) {
    const [, name, value = null] = FLAG.exec(word) ?? [];
    if (name === undefined) break;
    flags.push({ name, value });
    read = end;
  }
  return { flags, text: rest.slice(read).trimStart() };
}

/** Parses the JSON form; null: shell form. */
function parseJsonForm(text: string, { line }: ParseContext): string[] | null {
  if (!text.startsWith('[')) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(value)) return null;
  if (!value.every((each) => typeof each === 'string')) throw unsupportedAt(line, 'the JSON form takes strings alone');
  return value;
}
