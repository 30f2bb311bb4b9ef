import type { Argument, Pipeline, ReadonlyCommand, Stage } from '../../model/readonly/command.ts';
import { command, pipeline, stage } from './gate-process.ts';

/**
 * Returns parses that a broken first layer could make of a text: split at blanks only, split at operators with quotes
 * kept, one word, passed to a shell, or to a program that runs others.
 */
export function brokenStructures(text: string): ReadonlyCommand[] {
  const naive = text.split(/[ \t\r\n]+/).filter((word) => word !== '');
  const unquoted = words(text, false).flat();
  const flat = [naive, unquoted, words(text, true).flat()];
  return [
    ...flat.map((argv) => command(argv)),
    ...flat.map((argv) => command(argv.map((glob, n) => (n === 0 ? glob : { glob })))),
    ...[true, false].map((keep) => ({ pipelines: pipelinesOf(text, keep, (word) => word) })),
    { pipelines: pipelinesOf(text, false, (glob) => ({ glob })) },
    ...[words(text, true), words(text, false)].map((stages) => ({
      pipelines: [pipeline(stages.map((one) => stage(one)))],
    })),
    ...[['sh', '-c', text], ['bash', '-c', text], ['env', text], [text], ['busybox', 'sh', '-c', text]].map((argv) =>
      command(argv),
    ),
    ...[['env'], ['xargs'], ['sh'], ['find', '/', '-exec'], ['xargs', '-I', '{}']].map((argv) =>
      command([...argv, ...unquoted]),
    ),
    command(['echo', text], ['sh']),
    command(['echo', 'x'], ['xargs', ...unquoted]),
    command(withoutRedirections(unquoted)),
    { pipelines: [pipeline([withVariables(unquoted)])] },
  ].filter(({ pipelines }) => pipelines.every(({ stages }) => stages.length > 0));
}

/** Returns stages split at operators, and their words by the quotes of POSIX sh. */
function words(text: string, keepQuotes: boolean): string[][] {
  return pieces(text, keepQuotes).map(({ argv }) => argv);
}

function pipelinesOf(text: string, keepQuotes: boolean, argument: (word: string) => Argument): Pipeline[] {
  const pipelines: Pipeline[] = [];
  let stages: ReturnType<typeof stage>[] = [];
  let when: Pipeline['when'] = 'always';
  for (const { argv, operator } of pieces(text, keepQuotes)) {
    stages.push(stage(argv.map((word, n) => (n === 0 ? word : argument(word)))));
    if (operator === '|') continue;
    pipelines.push(pipeline(stages, pipelines.length === 0 ? 'always' : when));
    stages = [];
    when = operator === '&&' ? 'success' : operator === '||' ? 'failure' : 'always';
  }
  return pipelines;
}

interface Piece {
  argv: string[];
  operator: string;
}

function pieces(text: string, keepQuotes: boolean): Piece[] {
  const found: Piece[] = [];
  let argv: string[] = [];
  let word: string | null = null;
  const tokens = text.matchAll(/'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|(&&|\|\||[;|&\n])|([ \t]+)|([\s\S])/g);
  for (const [whole, single, double, escaped, operator, blank, char] of tokens) {
    if (operator === undefined && blank === undefined) {
      word =
        (word ?? '') +
        (keepQuotes ? whole : (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? char ?? ''));
      continue;
    }
    if (word !== null) argv.push(word);
    word = null;
    if (operator === undefined) continue;
    if (argv.length > 0) found.push({ argv, operator });
    argv = [];
  }
  if (word !== null) argv.push(word);
  if (argv.length > 0) found.push({ argv, operator: ';' });
  return found;
}

/** Moves words before the program into its environment, with any names. */
function withVariables(argv: readonly string[]): Stage {
  const first = argv.findIndex((word) => !/^[A-Za-z_]+=/.test(word));
  return stage(argv.slice(Math.max(first, 0)), { environment: argv.slice(0, Math.max(first, 0)) });
}

function withoutRedirections(argv: readonly string[]): string[] {
  return argv.filter((word) => !/^[0-9]*[<>]/.test(word) && !/^[A-Za-z_]+=/.test(word));
}
