import { type ArgsDef, defineCommand } from 'citty';
import { APPROVAL_STATES } from '../../model/approvals/approval.ts';
import { isApprovalId } from '../../model/ids.ts';
import { SHORT_DIGEST } from '../terminal/approval-note.ts';
import { checkArguments, JSON_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { APPROVAL_HEADER, approvalLines, approvalRow } from './approval-text.ts';

const ID = { id: { type: 'positional', description: 'Id of an approval', required: true } } as const satisfies ArgsDef;
const PROJECT = { project: { type: 'string', description: 'Another project (operators)' } } as const satisfies ArgsDef;
const LIST = {
  state: { type: 'enum', options: [...APPROVAL_STATES], description: 'Only those in this state' },
  all: { type: 'boolean', description: 'Also those that wait no more' },
  ...PROJECT,
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const WATCH = { ...PROJECT, ...JSON_OPTION } as const satisfies ArgsDef;
const SHOW = {
  ...ID,
  wait: { type: 'string', description: 'How long to wait until it is decided, such as 30s', default: '0s' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const DECIDE = {
  ...ID,
  digest: {
    type: 'string',
    description: `The beginning of the digest that \`show\` prints, ${SHORT_DIGEST} characters or more`,
    required: true,
  },
  reason: { type: 'string', description: 'What who asks is told' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const WITHDRAW = { ...ID, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly approval list|watch|show|approve|refuse|withdraw` */
export function approvalCommand(io: Io) {
  return defineCommand({
    subCommands: {
      list: listApprovals(io),
      watch: watchApprovals(io),
      show: showApproval(io),
      approve: decideCommand(io, 'approve', 'Let a request be done, once'),
      refuse: decideCommand(io, 'refuse', 'Refuse a request'),
      withdraw: withdrawApproval(io),
    },
  });
}

function listApprovals(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List what waits for approval' },
    args: LIST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST);
      const { approvals } = connect(io);
      const { project } = args;
      const state = args.state ?? (args.all ? undefined : 'awaiting-approval');
      const only = { ...(state && { state }), ...(project !== undefined && { project }) };
      const table = { header: APPROVAL_HEADER, row: approvalRow };
      await printList(io, args, table, (page) => approvals.list({ ...page, ...only }));
      return EXIT.ok;
    },
  });
}

function watchApprovals(io: Io) {
  return defineCommand({
    meta: { name: 'watch', description: 'Follow what waits, is decided and used, until Ctrl-C' },
    args: WATCH,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, WATCH);
      const { project } = args;
      const options = { signal: io.signal, ...(project !== undefined && { project }) };
      for await (const approval of connect(io).approvals.watch(options)) {
        if (args.json) io.printJson(approval);
        else io.print(approvalRow(approval).join('  '));
      }
      return EXIT.ok;
    },
  });
}

function showApproval(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show what is asked for, with nothing in it hidden' },
    args: SHOW,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SHOW);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const approval = await connect(io).approvals.get(approvalId(args.id), options);
      if (args.json) io.printJson(approval);
      else for (const line of approvalLines(approval)) io.print(line);
      return EXIT.ok;
    },
  });
}

function decideCommand(io: Io, verb: 'approve' | 'refuse', description: string) {
  return defineCommand({
    meta: { name: verb, description },
    args: DECIDE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, DECIDE);
      const { approvals } = connect(io);
      const call = { signal: io.signal };
      const id = approvalId(args.id);
      const digest = wholeDigest(args.digest, (await approvals.get(id, call)).digest);
      const decision = { digest, ...(args.reason !== undefined && { reason: args.reason }) };
      const approval = await approvals[verb](id, decision, call);
      if (args.json) io.printJson(approval);
      else io.print(`${id} is ${approval.state}.`);
      return EXIT.ok;
    },
  });
}

function withdrawApproval(io: Io) {
  return defineCommand({
    meta: { name: 'withdraw', description: 'Ask no more, with the key that asked' },
    args: WITHDRAW,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, WITHDRAW);
      const approval = await connect(io).approvals.withdraw(approvalId(args.id), { signal: io.signal });
      if (args.json) io.printJson(approval);
      else io.print(`${approval.id} is ${approval.state}.`);
      return EXIT.ok;
    },
  });
}

/** @throws CliError when what was typed is of something else */
function wholeDigest(typed: string, digest: string): string {
  if (typed.length < SHORT_DIGEST) throw usageError(`--digest takes ${SHORT_DIGEST} characters or more of it`);
  if (digest.startsWith(typed)) return digest;
  const why = 'its digest is another one';
  throw new CliError(EXIT.failed, 'That is not what you have seen', why, 'Look again with `mayfly approval show`.');
}

function approvalId(text: string): string {
  if (isApprovalId(text)) return text;
  throw usageError(`${JSON.stringify(text)} is not an approval id`, 'List them with `mayfly approval list`.');
}
