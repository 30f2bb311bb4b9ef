import { type ParsedArguments, parseArguments, parseLeadingOptions } from './arguments.ts';
import { type Argument, textOf } from './command.ts';
import { Fault } from './fault.ts';
import { findProgram, type Program, type Table } from './table.ts';
import { quote, UNCHECKED_ITEM_TYPES } from './value.ts';

/** Options of xargs that replace a word by items, instead of appending them. */
const REPLACING = ['-I', '-i', '--replace'];

/**
 * Checks the arguments of xargs and the nested command by the same table.
 * @returns the arguments, with a `--` before the items where the program takes options
 * @throws Fault
 */
export function checkXargs(table: Table, xargs: Program, argv: [string, ...Argument[]]): [string, ...Argument[]] {
  const texts = argv.map(textOf);
  const { next, values } = parseLeadingOptions(xargs, table.types, texts);
  const name = texts[next];
  if (name === undefined) return argv;
  const program = findProgram(table, name);
  if (program?.xargs === undefined) throw new Fault(next, `xargs may not run ${quote(name)}`);
  try {
    const nested = texts.slice(next);
    const reading = parseArguments(program, table.types, nested);
    checkItems(nested, reading, getReplacedWord(values));
    if (program.xargs === 'plain') return argv;
    const before = next + findSeparator(reading, nested);
    if (texts[before] === '--' && reading.separator !== null) return argv;
    return [argv[0], ...argv.slice(1, before), '--', ...argv.slice(before)];
  } catch (error) {
    if (error instanceof Fault) throw new Fault(next + error.index, error.message);
    throw error;
  }
}

/** Returns the word that items replace; null when they are appended. */
function getReplacedWord(values: Map<string, string>): string | null {
  const given = REPLACING.filter((option) => values.has(option));
  if (given.length > 1) throw new Fault(0, 'only one of -I, -i and --replace can be given');
  const [option] = given;
  return option === undefined ? null : values.get(option) || '{}';
}

/** Checks that items only become operands of any value; after -I, -n appends them again. */
function checkItems(nested: readonly string[], reading: ParsedArguments, place: string | null): void {
  if (reading.open === null || !UNCHECKED_ITEM_TYPES.includes(reading.open))
    throw new Fault(0, 'items cannot follow here');
  for (const [index, argument] of nested.entries()) {
    if (place === null || !argument.includes(place)) continue;
    const operand = reading.operands.find((known) => known.index === index);
    if (!operand || !UNCHECKED_ITEM_TYPES.includes(operand.type))
      throw new Fault(index, 'an item can only stand for an operand');
  }
}

/** Returns the index of `--`, present or to be inserted: after every option and before the first operand. */
function findSeparator(reading: ParsedArguments, nested: readonly string[]): number {
  if (reading.separator !== null) {
    const early = reading.operands.find((operand) => operand.index < (reading.separator ?? 0));
    if (early) throw new Fault(early.index, 'under xargs, operands come after `--`');
    return reading.separator;
  }
  const first = reading.operands[0]?.index ?? nested.length;
  const late = reading.options.find((index) => index > first);
  if (late !== undefined) throw new Fault(late, 'under xargs, options come before operands');
  return first;
}
