import type { Instruction } from './instructions.ts';
import { refusedAt } from './refusal.ts';
import { expanded, splitWords, type Variables } from './words.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Parses the pairs of ENV and LABEL: `name=value …`, or the old `name value` for one. All values see the variables from
 * before the instruction.
 * @throws MayflyError dockerfile_unsupported
 */
export function namedValues(instruction: Instruction, variables: Variables): [name: string, value: string][] {
  const { text, line, keyword } = instruction;
  const words = splitWords(text, instruction);
  const [first = ''] = words;
  const isOld = !first.includes('=');
  if (isOld && words.length < 2) throw refusedAt(line, `${keyword} ${first} has no value`);
  const pairs = isOld ? [[first, text.slice(first.length).trim()] as const] : words.map((word) => split(word, line));
  return pairs.map(([name, value]) => {
    const plain = expanded(name, variables, instruction);
    if (plain === '') throw refusedAt(line, `${keyword} has a value without a name`);
    if (keyword === 'ENV' && !NAME.test(plain)) {
      throw refusedAt(line, `${JSON.stringify(plain)} is no name of a variable`);
    }
    return [plain, expanded(value, variables, instruction)];
  });
}

/**
 * Parses the pairs of ARG: `name` or `name=default`; each default sees the pairs before it.
 * @param given build arguments, which override defaults
 */
export function argValues(
  instruction: Instruction,
  variables: Variables,
  given: Variables,
): [name: string, value: string | null][] {
  const known: Record<string, string> = { ...variables };
  return splitWords(instruction.text, instruction).map((word) => {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    if (!NAME.test(name)) throw refusedAt(instruction.line, `${JSON.stringify(name)} is no name of a variable`);
    const otherwise = at < 0 ? null : expanded(word.slice(at + 1), known, instruction);
    const value = Object.hasOwn(given, name) ? (given[name] ?? '') : otherwise;
    if (value !== null) known[name] = value;
    return [name, value];
  });
}

function split(word: string, line: number): readonly [string, string] {
  const at = word.indexOf('=');
  if (at < 0) throw refusedAt(line, `${JSON.stringify(word)} is not of the form name=value`);
  return [word.slice(0, at), word.slice(at + 1)];
}
