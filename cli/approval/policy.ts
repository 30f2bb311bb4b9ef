import { readFile } from 'node:fs/promises';
import { type ArgsDef, defineCommand } from 'citty';
import { parse } from 'yaml';
import type { PolicyRuleWish } from '../../client/approvals.ts';
import { checkArguments, JSON_OPTION, wholeNumber } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { policyLines } from './approval-text.ts';

const PROJECT = { project: { type: 'string', description: 'Another project (operators)' } } as const satisfies ArgsDef;
const SHOW = { ...PROJECT, ...JSON_OPTION } as const satisfies ArgsDef;
const SET = {
  file: { type: 'positional', description: 'YAML or JSON: `rules`, or a list of them', required: true },
  version: { type: 'string', description: 'Only when this version still holds' },
  ...PROJECT,
  ...JSON_OPTION,
} as const satisfies ArgsDef;
/** Versions of one project. */
const MAX_VERSION = 999_999_999;

/** `mayfly policy show|set` */
export function policyCommand(io: Io) {
  return defineCommand({
    subCommands: { show: showPolicy(io), set: setPolicy(io) },
  });
}

function showPolicy(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show the rules that hold' },
    args: SHOW,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SHOW);
      const policy = await connect(io).approvals.policy(callOf(io, args));
      if (args.json) io.printJson(policy);
      else for (const line of policyLines(policy)) io.print(line);
      return EXIT.ok;
    },
  });
}

function setPolicy(io: Io) {
  return defineCommand({
    meta: { name: 'set', description: 'Set all rules, which hold from the next request on' },
    args: SET,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SET);
      const rules = await rulesIn(args.file);
      const version = args.version === undefined ? undefined : wholeNumber('version', args.version, 0, MAX_VERSION);
      const options = { ...callOf(io, args), ...(version !== undefined && { version }) };
      const policy = await connect(io).approvals.setPolicy(rules, options);
      if (args.json) io.printJson(policy);
      else for (const line of policyLines(policy)) io.print(line);
      return EXIT.ok;
    },
  });
}

function callOf(io: Io, { project }: { project?: string | undefined }) {
  return { signal: io.signal, ...(project !== undefined && { project }) };
}

/** The API says what is wrong with one. @throws CliError when there are none */
async function rulesIn(file: string): Promise<PolicyRuleWish[]> {
  const content: unknown = await read(file);
  const rules: unknown =
    typeof content === 'object' && content !== null && 'rules' in content ? content.rules : content;
  if (Array.isArray(rules)) return rules as PolicyRuleWish[];
  throw usageError(`${file} has no rules`, 'Give it a list of them, or `rules: []`. docs/approvals.md has an example.');
}

async function read(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
