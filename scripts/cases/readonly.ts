import { readReadonlyCommand } from '../../model/readonly/readonly-command.ts';
import { type Case, isRecord, type Problem, stringField } from './case.ts';

/** Judgement calls: they say what somebody would do, and do not count. */
const UNCOUNTED = ['policy', 'may_block'];

/** A command runs when the grammar and the table let it. */
export function readonlyGroup(one: Case): Problem {
  if (!isRecord(one.expected) || typeof one.expected['allowed'] !== 'boolean') {
    throw new TypeError('expected.allowed is not a boolean');
  }
  const read = readReadonlyCommand(stringField(one.input, 'command'));
  const allowed = 'command' in read;
  if (allowed === one.expected['allowed'] || UNCOUNTED.includes(one.strength ?? '')) return null;
  const reason = 'refusal' in read ? ` at ${read.refusal.position}: ${read.refusal.reason}` : '';
  return { expected: JSON.stringify(one.expected), came: JSON.stringify({ allowed }) + reason };
}
