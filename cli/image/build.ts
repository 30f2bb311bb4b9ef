import { open, readFile } from 'node:fs/promises';
import type { ArgsDef } from 'citty';
import type { BuildImage, Image } from '../../clients/typescript/http/openapi.ts';
import { orAbsent } from '../../host/os/absent.ts';
import { isImageFinal } from '../../model/image/image.ts';
import { LIMITS } from '../../model/limits.ts';
import { waitSignal } from '../sandbox/sandbox-text.ts';
import { JSON_OPTION, option, WAIT_OPTION, waitSeconds, wholeNumber } from '../terminal/arguments.ts';
import { EXIT, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { contextOf } from './context.ts';
import { builtLines, followBuild } from './follow-build.ts';

const ARGS = {
  context: { type: 'positional', description: 'Folder that COPY takes from', required: false },
  name: { type: 'string', description: 'Of the source that it becomes', required: true },
  file: {
    type: 'string',
    alias: 'f',
    valueHint: 'Dockerfile',
    description: 'A file, or - for standard input',
    default: 'Dockerfile',
  },
  'build-arg': option('May be given more than once', 'NAME=value'),
  alias: option('Which source a FROM means; may be given more than once', 'debian:12=golden-debian12'),
  secret: option('What RUN --mount=type=secret mounts; may be given more than once', 'id=name[,src=file|,env=NAME]'),
  target: option('Name or number of a stage, else the last', 'stage'),
  network: { type: 'string', valueHint: 'none|internet', description: 'What its steps can reach', default: 'none' },
  ready: option('Has to exit with 0 in a fresh machine of it, before its template is saved', 'command'),
  'ready-seconds': option('How long that is asked again, else 120', 'n'),
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly image build`: done when the image is a source. Ctrl-C cancels the build. */
export const buildCommand = customCommand({
  description: 'Build a source of a Dockerfile, in a sandbox, step by step',
  args: ARGS,
  repeatable: ['build-arg', 'alias', 'secret'],
  async run({ io, args, repeated, connect }) {
    const { images, commands } = connect();
    const request: BuildImage = {
      name: args.name,
      dockerfile: await dockerfileOf(args.file, LIMITS.image.dockerfileBytes),
      args: pairs('build-arg', repeated('build-arg')),
      aliases: pairs('alias', repeated('alias')),
      secrets: await secretsOf(io.env, repeated('secret')),
      network: { egress: egressOf(args.network) },
      ...(args.context !== undefined && (await contextOf(io, images, args.context))),
      ...(args.target !== undefined && { target: args.target }),
      ...readyOf(args.ready, args['ready-seconds']),
    };
    const begun = await images.build(request, { signal: io.signal });
    if (isImageFinal(begun.state)) io.note(`${begun.id} was the same and is over: nothing runs, and this is its log`);
    const { signal } = waitSignal(io, waitSeconds(args.wait));
    const followed = await followBuild(io, { images, commands }, begun, signal);
    const isUndone = io.signal.aborted && codeOf(followed) === EXIT.waitedTooLong;
    const image = isUndone ? await images.cancel(begun.id) : followed;
    if (isUndone) io.note(`${begun.id} is undone: its sandboxes go. The next build knows the steps that were done.`);
    if (!io.signal.aborted && !isImageFinal(image.state))
      io.note(`${image.id} goes on: mayfly image show ${image.id} --follow`);
    if (args.json) io.printJson(image);
    else for (const line of builtLines(io, image)) io.print(line);
    return io.signal.aborted ? EXIT.interrupted : codeOf(image);
  },
});

/** Returns the exit code of a build after the wait. */
export function codeOf({ state }: Image): number {
  if (state === 'ready') return EXIT.ok;
  return state === 'failed' || state === 'cancelled' ? EXIT.failed : EXIT.waitedTooLong;
}

function egressOf(text: string): 'none' | 'internet' {
  if (text === 'none' || text === 'internet') return text;
  throw usageError(`--network must be none or internet, not ${JSON.stringify(text)}`);
}

function readyOf(ready: string | undefined, seconds: string | undefined): Pick<BuildImage, 'ready' | 'readySeconds'> {
  if (ready === undefined) {
    if (seconds === undefined) return {};
    throw usageError('--ready-seconds is how long --ready is asked again', 'Say what is asked with --ready.');
  }
  const { min, max } = LIMITS.image.readySeconds;
  return { ready, ...(seconds !== undefined && { readySeconds: wholeNumber('ready-seconds', seconds, min, max) }) };
}

function pairs(option: 'build-arg' | 'alias', texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw usageError(`--${option} must be ${ARGS[option].valueHint}, not ${JSON.stringify(text)}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** Reads a Dockerfile; `-` is standard input. @throws CliError */
async function dockerfileOf(path: string, most: number): Promise<string> {
  const file = await orAbsent(open(path === '-' ? '/dev/stdin' : path));
  if (!file) throw usageError(`there is no file ${JSON.stringify(path)}`, 'Name the Dockerfile with -f.');
  try {
    const bytes = Buffer.alloc(most + 1);
    for (let length = 0; length < bytes.length; ) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) return bytes.toString('utf8', 0, length);
      length += bytesRead;
    }
  } finally {
    await file.close();
  }
  throw usageError(`${path} has more than ${most} bytes`);
}

/**
 * Reads secrets given as `id=name` with `src=file` or `env=NAME`; with neither, the variable of that name or else the
 * file, as with Docker.
 * @returns by id, in base64
 * @throws CliError, which never contains a secret
 */
async function secretsOf(env: NodeJS.ProcessEnv, texts: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const text of texts) {
    const options = new Map(text.split(',').map((option) => pair(option)));
    const id = options.get('id');
    const unknown = [...options.keys()].find((key) => !['id', 'src', 'source', 'env', 'type'].includes(key));
    if (!id || unknown !== undefined) throw usageError('--secret must be id=name[,src=file|,env=NAME]');
    const file = options.get('src') ?? options.get('source');
    const variable = options.get('env') ?? (file === undefined && env[id] !== undefined ? id : undefined);
    const bytes = variable === undefined ? await fileOf(file ?? id) : Buffer.from(variableOf(env, variable));
    found[id] = bytes.toString('base64');
  }
  return found;
}

function pair(option: string): [string, string] {
  const at = option.indexOf('=');
  return at < 0 ? [option, ''] : [option.slice(0, at), option.slice(at + 1)];
}

function variableOf(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined) throw usageError(`the variable ${name} is not set`);
  return value;
}

async function fileOf(path: string): Promise<Buffer> {
  const content = await orAbsent(readFile(path));
  if (content) return content;
  throw usageError(`there is no file ${JSON.stringify(path)}`, 'Name it with --secret id=name,src=file.');
}
