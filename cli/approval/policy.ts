import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { PolicyRule } from '../../clients/typescript/http/openapi.ts';
import { option, positional, wholeNumber } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';
import { policyLines } from './approval-text.ts';

const PROJECT = { project: option('Another project (operators)') };
/** Versions of one project. */
const MAX_VERSION = 999_999_999;

const showPolicy = command({
  description: 'Show the rules that hold',
  args: PROJECT,
  call: ({ io, args, connect }) => connect().approvals.policy(callOf(io, args)),
  print: (_io, policy) => policyLines(policy),
});

const setPolicy = command({
  description: 'Set all rules, which hold from the next request on',
  args: {
    file: positional('YAML or JSON: `rules`, or a list of them'),
    version: option('Only when this version still holds'),
    ...PROJECT,
  },
  async call({ io, args, connect }) {
    const rules = await rulesIn(args.file);
    const version = args.version === undefined ? undefined : wholeNumber('version', args.version, 0, MAX_VERSION);
    const options = { ...callOf(io, args), ...(version !== undefined && { version }) };
    return connect().approvals.setPolicy(rules, options);
  },
  print: (_io, policy) => policyLines(policy),
});

function callOf(io: Io, { project }: { project?: string | undefined }) {
  return { signal: io.signal, ...(project !== undefined && { project }) };
}

/** The API says what is wrong with one. @throws CliError when there are none */
async function rulesIn(file: string): Promise<PolicyRule[]> {
  const content: unknown = await read(file);
  const rules: unknown =
    typeof content === 'object' && content !== null && 'rules' in content ? content.rules : content;
  if (Array.isArray(rules)) return rules as PolicyRule[];
  throw usageError(`${file} has no rules`, 'Give it a list of them, or `rules: []`. docs/approvals.md has an example.');
}

async function read(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `mayfly policy get|update` */
export const policyCommand = nounCommand({ get: showPolicy, update: setPolicy }, { update: ['set'] });
