import { heredocText } from './heredocs.ts';
import type { Instruction } from './instructions.ts';
import { resolvePath } from './patterns/paths.ts';
import type { CopyStep, Ignore, Settings } from './plan.ts';
import { unsupportedAt } from './refusal.ts';
import { expandText, expandWord, splitWords, type Variables } from './words.ts';

const REMOTE = /^(?:https?:\/\/|git@|git:\/\/|ssh:\/\/)/i;
const ARCHIVE = /\.(?:tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst))$/i;

/**
 * Builds the step of a COPY, or of an ADD of local files.
 * @param stageOf returns the index of an earlier stage; null: there is none
 * @throws MayflyError dockerfile_unsupported
 */
export function buildCopyStep(
  instruction: Instruction,
  settings: Settings,
  variables: Variables,
  stageOf: (name: string) => number | null,
  ignore: Ignore,
): CopyStep {
  const { line, text, keyword, json, heredocs } = instruction;
  const names = new Set(heredocs.map(({ word }) => word));
  const words = splitWords(text, instruction).filter((word) => !names.has(word));
  const paths = json
    ? json.map((path) => expandText(path, variables, instruction))
    : words.map((word) => expandWord(word, variables, instruction));
  const target = paths.pop();
  if (target === undefined || paths.length + heredocs.length === 0) {
    throw unsupportedAt(line, `${keyword} needs what is copied, and to where`);
  }
  if (paths.length + heredocs.length > 1 && !/(?:^|\/)\.?$/.test(target)) {
    throw unsupportedAt(line, `several things are copied to ${JSON.stringify(target)}, which does not end with /`);
  }
  for (const path of keyword === 'ADD' ? paths : []) assertLocalFile(path, line);
  const flags = parseFlags(instruction, variables, ignore);
  const from = flags.from === null ? null : stageOf(flags.from);
  if (flags.from !== null && from === null) {
    throw unsupportedAt(line, `no stage before is called ${JSON.stringify(flags.from)}; other images are not read`);
  }
  if (from !== null && heredocs.length > 0) throw unsupportedAt(line, 'a heredoc is of no other stage');
  const inline = heredocs.map((heredoc) => {
    if (/[/\0]|^\.{0,2}$/.test(heredoc.name))
      throw unsupportedAt(line, `${JSON.stringify(heredoc.name)} is no name of a file`);
    const content = heredocText(heredoc);
    return {
      name: heredoc.name,
      content: heredoc.expands ? expandText(content, variables, { ...instruction, escaper: '\\' }) : content,
    };
  });
  return {
    kind: 'copy',
    line,
    text: `${keyword} ${text}`,
    sources: paths,
    inline,
    from,
    target: resolvePath(target, settings.workdir),
    owner: flags.chown,
    mode: flags.chmod,
  };
}

function parseFlags(instruction: Instruction, variables: Variables, ignore: Ignore) {
  const found: Record<'from' | 'chown' | 'chmod', string | null> = { from: null, chown: null, chmod: null };
  const { line, keyword, flags } = instruction;
  for (const { name, value } of flags) {
    if (name === 'link' && (value === null || value === 'true' || value === 'false')) {
      ignore({ line, text: `${keyword} --link: copied as without it` });
      continue;
    }
    const isKnown = name === 'chown' || name === 'chmod' || (name === 'from' && keyword === 'COPY');
    if (!isKnown || !value)
      throw unsupportedAt(line, `${keyword} --${name}${value ? `=${value}` : ''} is not done here`);
    found[name] = expandWord(value, variables, instruction);
  }
  if (found.chmod !== null && !/^[0-7]{1,4}$/.test(found.chmod)) {
    throw unsupportedAt(line, `--chmod=${found.chmod} is not octal`);
  }
  if (found.chown !== null && !/^[A-Za-z0-9_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/.test(found.chown)) {
    throw unsupportedAt(line, `--chown=${found.chown} is not user or user:group`);
  }
  return found;
}

/** Refuses an ADD that would download or unpack. */
function assertLocalFile(path: string, line: number): void {
  if (REMOTE.test(path)) throw unsupportedAt(line, `ADD fetches nothing here: ${JSON.stringify(path)}; RUN can`);
  if (ARCHIVE.test(path))
    throw unsupportedAt(line, `ADD unpacks nothing here: ${JSON.stringify(path)}; COPY and RUN can`);
}
