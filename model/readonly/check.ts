import { parseArguments } from './arguments.ts';
import { type Argument, type ReadonlyCommand, type Stage, textOf } from './command.ts';
import { Fault } from './fault.ts';
import { checkFind } from './find-expression.ts';
import { splitNames } from './options.ts';
import { findProgram, type Table } from './table.ts';
import { checkValue, quote } from './value.ts';
import { checkXargs } from './xargs-command.ts';

/** Disallowed word, by its indexes. */
interface Objection {
  pipeline: number;
  stage: number;
  part: Fault['part'];
  index: number;
  reason: string;
}

/**
 * Checks a parsed command against the table.
 * @returns the command, with a `--` where xargs needs it; or the objection
 */
export function checkCommand(table: Table, command: ReadonlyCommand): ReadonlyCommand | Objection {
  const checked: ReadonlyCommand = { pipelines: [] };
  let stages = 0;
  for (const [p, { when, stages: given }] of command.pipelines.entries()) {
    const pipeline = { when, stages: [...given] };
    for (const [s, stage] of given.entries()) {
      try {
        if (++stages > table.limits.stages) throw new Fault(0, `more than ${table.limits.stages} programs`);
        checkEnvironment(table, stage.environment ?? []);
        const feeding = stage.stdin === 'pipe' ? given[s - 1] : undefined;
        pipeline.stages[s] = { ...stage, argv: checkArgv(table, stage.argv, feeding) };
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return { pipeline: p, stage: s, part: error.part, index: error.index, reason: error.message };
      }
    }
    checked.pipelines.push(pipeline);
  }
  return checked;
}

function checkArgv(table: Table, argv: [string, ...Argument[]], feeding?: Stage): [string, ...Argument[]] {
  const program = findProgram(table, argv[0]);
  if (!program) throw new Fault(0, `${quote(argv[0])} is not a program that may be run; docs/read-only.md lists them`);
  if (argv.length > table.limits.arguments) throw new Fault(0, `more than ${table.limits.arguments} arguments`);
  const texts = argv.map(textOf);
  const long = texts.findIndex((text) => new TextEncoder().encode(text).length > table.limits.argumentBytes);
  if (long >= 0) throw new Fault(long, `more than ${table.limits.argumentBytes} bytes`);
  if (program.language === 'xargs') return checkXargs(table, program, argv);
  if (program.language === 'find') checkFind(program, table.types, texts);
  else checkInput(parseArguments(program, table.types, texts).fedBy, feeding);
  return argv;
}

function checkEnvironment(table: Table, variables: readonly string[]): void {
  for (const [index, variable] of variables.entries()) {
    const name = variable.slice(0, variable.indexOf('='));
    const type = Object.entries(table.environment).find(([list]) => splitNames(list).includes(name))?.[1];
    if (type === undefined) {
      const known = Object.keys(table.environment).join(' ');
      throw new Fault(index, `the variable ${quote(name)} cannot be set; these can: ${known}`, 'environment');
    }
    const fault = checkValue(table.types, type, variable.slice(name.length + 1));
    if (fault !== null) throw new Fault(index, `${name}: ${fault}`, 'environment');
  }
}

/** Checks the preceding stage's command where a program transmits its standard input. */
function checkInput(fedBy: string[] | null, feeding: Stage | undefined): void {
  if (fedBy === null || feeding === undefined) return;
  if (!fedBy.includes(feeding.argv.map(textOf).join(' ').trim())) {
    throw new Fault(0, `it would send what it is given; only these may be before its \`|\`: ${fedBy.join(', ')}`);
  }
}
