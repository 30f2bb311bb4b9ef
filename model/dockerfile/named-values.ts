import type { Instruction } from './instructions.ts';
import { unsupportedAt } from './refusal.ts';
import { expandWord, splitWords, type Variables } from './words.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Parses the pairs of ENV and LABEL: `name=value …`, or the old `name value` for one. All values see the variables from
 * before the instruction.
 * @throws MayflyError dockerfile_unsupported
 */
export function parsePairs(instruction: Instruction, variables: Variables): [name: string, value: string][] {
  const { text, line, keyword } = instruction;
  const words = splitWords(text, instruction);
  const [first = ''] = words;
  const isOld = !first.includes('=');
  if (isOld && words.length < 2) throw unsupportedAt(line, `${keyword} ${first} has no value`);
  const pairs = isOld ? [[first, text.slice(first.length).trim()] as const] : words.map((word) => split(word, line));
  return pairs.map(([name, value]) => {
    const plain = expandWord(name, variables, instruction);
    if (plain === '') throw unsupportedAt(line, `${keyword} has a value without a name`);
    if (keyword === 'ENV' && !NAME.test(plain)) {
      throw unsupportedAt(line, `${JSON.stringify(plain)} is no name of a variable`);
    }
    return [plain, expandWord(value, variables, instruction)];
  });
}

/**
 * Parses the pairs of ARG: `name` or `name=default`; each default sees the pairs before it.
 * @param given build arguments, which override defaults
 */
export function parseArgs(
  instruction: Instruction,
  variables: Variables,
  given: Variables,
): [name: string, value: string | null][] {
  const known: Record<string, string> = { ...variables };
  return splitWords(instruction.text, instruction).map((word) => {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    if (!NAME.test(name)) throw unsupportedAt(instruction.line, `${JSON.stringify(name)} is no name of a variable`);
    const otherwise = at < 0 ? null : expandWord(word.slice(at + 1), known, instruction);
    const value = Object.hasOwn(given, name) ? (given[name] ?? '') : otherwise;
    if (value !== null) known[name] = value;
    return [name, value];
  });
}

function split(word: string, line: number): readonly [string, string] {
  const at = word.indexOf('=');
  if (at < 0) throw unsupportedAt(line, `${JSON.stringify(word)} is not of the form name=value`);
  return [word.slice(0, at), word.slice(at + 1)];
}
