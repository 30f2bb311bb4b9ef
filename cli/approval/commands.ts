import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { PolicyRule } from '../../clients/typescript/http/openapi.ts';
import { approvalRecord } from '../../model/approvals/approval.ts';
import { isApprovalId } from '../../model/ids.ts';
import { createCheck, JSON_OPTION, option, positional, waitSeconds, wholeNumber } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { SHORT_DIGEST } from '../terminal/connection.ts';
import type { Io } from '../terminal/io.ts';
import { APPROVAL_HEADER, approvalLines, approvalRow, policyLines } from './approval-text.ts';

const ID = { id: positional('Id of an approval') };
const PROJECT = { project: option('Another project (operators)') };

function decideCommand(verb: 'approve' | 'refuse', description: string) {
  return command({
    description,
    args: {
      ...ID,
      digest: {
        type: 'string',
        description: `The beginning of the digest that \`get\` prints, ${SHORT_DIGEST} characters or more`,
        required: true,
      },
      reason: option('What who asks is told'),
    },
    async call({ args, connect, options }) {
      const { approvals } = connect();
      const id = approvalId(args.id);
      const digest = completeDigest(args.digest, (await approvals.get(id, options)).digest);
      const decision = { digest, ...(args.reason !== undefined && { reason: args.reason }) };
      return approvals[verb](id, decision, options);
    },
    print: (_io, approval, { id }) => `${id} is ${approval.state}.`,
  });
}

/** @throws CliError when the typed digest belongs to another request */
function completeDigest(typed: string, digest: string): string {
  if (typed.length < SHORT_DIGEST) throw usageError(`--digest takes ${SHORT_DIGEST} characters or more of it`);
  if (digest.startsWith(typed)) return digest;
  const why = 'its digest is another one';
  throw new CliError(EXIT.failed, 'That is not what you have seen', why, 'Look again with `mayfly approval get`.');
}

const approvalId = createCheck(isApprovalId, 'is not an approval id', 'List them with `mayfly approval list`.');

export const approvalCommand = nounCommand({
  list: pagedCommand({
    description: 'List what waits for approval',
    args: {
      state: {
        type: 'enum',
        options: [...approvalRecord.shape.state.options],
        description: 'Only those in this state',
      },
      all: { type: 'boolean', description: 'Also those that wait no more' },
      ...PROJECT,
    },
    table: { header: APPROVAL_HEADER, row: approvalRow },
    async read({ args, connect }) {
      const { project } = args;
      const state = args.state ?? (args.all ? undefined : 'awaiting-approval');
      const only = { ...(state && { state }), ...(project !== undefined && { project }) };
      return (page) => connect().approvals.list({ ...page, ...only });
    },
  }),
  watch: customCommand({
    description: 'Follow what waits, is decided and used, until Ctrl-C',
    args: { ...PROJECT, ...JSON_OPTION },
    async run({ io, args, connect }) {
      const { project } = args;
      const options = { signal: io.signal, ...(project !== undefined && { project }) };
      for await (const approval of connect().approvals.watch(options)) {
        if (args.json) io.printJson(approval);
        else io.print(approvalRow(approval).join('  '));
      }
    },
  }),
  get: command({
    description: 'Show what is asked for, with nothing in it hidden',
    args: {
      ...ID,
      wait: { type: 'string', description: 'How long to wait until it is decided, such as 30s', default: '0s' },
    },
    async call({ io, args, connect }) {
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      return connect().approvals.get(approvalId(args.id), options);
    },
    print: (_io, approval) => approvalLines(approval),
  }),
  approve: decideCommand('approve', 'Let a request be done, once'),
  refuse: decideCommand('refuse', 'Refuse a request'),
  withdraw: command({
    description: 'Ask no more, with the key that asked',
    args: ID,
    call: ({ args, connect, options }) => connect().approvals.withdraw(approvalId(args.id), options),
    print: (_io, approval) => `${approval.id} is ${approval.state}.`,
  }),
});

/** Largest version number of a policy. */
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

/** Reads rules from a file; the API validates them. @throws CliError when there are none */
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

export const policyCommand = nounCommand({ get: showPolicy, update: setPolicy }, { update: ['set'] });
