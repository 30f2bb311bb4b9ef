import { Fault } from './fault.ts';
import { findOption } from './options.ts';
import type { Program, ValueType } from './table.ts';
import { checkValue, quote } from './value.ts';

/** Options before the starting points. */
const LEADING = ['-H', '-L', '-P'];

/**
 * Checks the arguments of find: options, starting points, and an expression with only the table's tests and actions.
 * @throws Fault
 */
export function checkFind(program: Program, types: Record<string, ValueType>, argv: readonly string[]): void {
  let at = 1;
  while (LEADING.includes(argv[at] ?? '')) at++;
  for (; at < argv.length && !beginsExpression(argv[at] ?? ''); at++) {
    const fault = checkValue(types, 'path', argv[at] ?? '');
    if (fault !== null) throw new Fault(at, fault);
  }
  for (; at < argv.length; at++) {
    const name = argv[at] ?? '';
    const option = findOption([program], name);
    if (!option) throw new Fault(at, `${quote(name)} is not among the tests and actions that are allowed`);
    if (option.kind === 'flag') continue;
    const value = argv[++at];
    if (value === undefined) throw new Fault(at - 1, `${name} needs a value`);
    const fault = checkValue(types, option.type, value);
    if (fault !== null) throw new Fault(at, `${name}: ${fault}`);
  }
}

/** Detects the expression like GNU find (looks_like_expression), slightly more broadly. */
function beginsExpression(argument: string): boolean {
  return /^(?:-.|[(),!])/s.test(argument);
}
