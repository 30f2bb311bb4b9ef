import { Fault } from './fault.ts';
import { findOption, type Option, splitNames } from './options.ts';
import type { Arguments, Operands, ValueType } from './table.ts';
import { canStartWithDash, checkValue, quote } from './value.ts';

interface Operand {
  /** Index in `argv`. */
  index: number;
  type: string;
  /** True for an operand of the repeatable last type. */
  repeated: boolean;
}

export interface ParsedArguments {
  operands: Operand[];
  /** Indexes of options and of their separate values. */
  options: number[];
  /** Index of the argument `--`. */
  separator: number | null;
  /** Type of further operands when all fixed ones are present; null: further ones are refused. */
  open: string | null;
  /** Values by option name; the last one wins. */
  values: Map<string, string>;
  /** Commands allowed before its pipe, if there is one; null: any. */
  fedBy: string[] | null;
}

/** Parses a program's arguments by the rules of `table.ts`. @throws Fault for the first disallowed argument */
export function parseArguments(
  node: Arguments,
  types: Record<string, ValueType>,
  argv: readonly string[],
): ParsedArguments {
  const reader = new ArgumentReader(node, types, argv);
  reader.scan(true);
  return reader.reading();
}

/**
 * Parses options up to the first operand.
 * @returns index of the operand, and the options' values
 * @throws Fault for the first disallowed option
 */
export function parseLeadingOptions(
  node: Arguments,
  types: Record<string, ValueType>,
  argv: readonly string[],
): { next: number; values: Map<string, string> } {
  const reader = new ArgumentReader(node, types, argv);
  return { next: reader.scan(false), values: reader.values };
}

class ArgumentReader {
  readonly #scopes: Arguments[];
  readonly #style: string;
  readonly #operands: number[] = [];
  readonly #options: number[] = [];
  readonly values = new Map<string, string>();
  #separator: number | null = null;
  #at = 1;
  readonly #end: number;

  constructor(
    node: Arguments,
    private readonly types: Record<string, ValueType>,
    private readonly argv: readonly string[],
  ) {
    this.#scopes = [node];
    this.#style = node.style ?? 'getopt';
    this.#end = argv.length - (node.last === undefined ? 0 : 1);
    if (node.last !== undefined && argv.at(-1) !== node.last) throw new Fault(0, `must end in \`${node.last}\``);
    if (node.first !== undefined && !isFirst(node.first, argv[1])) throw new Fault(0, `must begin with: ${node.first}`);
  }

  /**
   * Scans the arguments.
   * @param permutes true when options may follow operands
   * @returns index where it stopped
   */
  scan(permutes: boolean): number {
    for (; this.#at < this.#end; this.#at++) {
      const argument = this.argv[this.#at] ?? '';
      const isOption = this.#separator === null && this.#style !== 'words' && /^-./s.test(argument);
      if (!isOption && !permutes) break;
      if (isOption && this.#current.optionsFirst && this.#operands.length > 0) {
        throw new Fault(this.#at, 'here options come before operands');
      }
      if (!isOption) this.#operand(argument);
      else if (this.#style === 'long') this.#long(argument);
      else if (argument === '--') this.#separator = this.#at;
      else if (argument.startsWith('--')) this.#doubleDash(argument);
      else this.#bundle(argument);
    }
    return this.#at;
  }

  get #current(): Arguments {
    return this.#scopes.at(-1) ?? {};
  }

  #setOption(name: string, option: Option, value: string | null, index = this.#at): void {
    this.#options.push(index);
    this.values.set(name, value ?? '');
    if (value === null) return;
    const fault = checkValue(this.types, option.type, value);
    if (fault !== null) throw new Fault(index, `${name}: ${fault}`);
  }

  /** Returns the result. @throws Fault when something is missing, or an operand is not allowed */
  reading(): ParsedArguments {
    for (const group of this.#scopes.flatMap((scope) => scope.require ?? [])) {
      if (!this.#hasOption(group)) throw new Fault(0, `one of these must be given: ${group}`);
    }
    const { verbs, verbOptional, operands, operandsWith } = this.#current;
    if (verbs && !verbOptional) throw new Fault(0, `needs one of: ${Object.keys(verbs).join(' ')}`);
    const others = Object.entries(operandsWith ?? {}).find(([group]) => this.#hasOption(group));
    const [options, separator, values] = [this.#options, this.#separator, this.values];
    const fedBy = this.#scopes.flatMap((scope) => scope.fedBy ?? []);
    const read = { options, separator, values, fedBy: fedBy.length > 0 ? fedBy : null };
    return { ...this.#assign(others?.[1] ?? operands ?? []), ...read };
  }

  /** Consumes the next argument as the value of an option. */
  #takeValue(name: string, option: Option): void {
    const index = this.#at + 1;
    const value = this.argv[index];
    if (value === undefined || index >= this.#end) throw new Fault(this.#at, `${name} needs a value`);
    if (value !== '-' && value.startsWith('-') && !canStartWithDash(option.type)) {
      throw new Fault(index, `the value of ${name} must not start with \`-\`, unless it is attached`);
    }
    this.#options.push(this.#at);
    this.#setOption(name, option, value, index);
    this.#at = index;
  }

  #long(argument: string): void {
    const option = findOption(this.#scopes, argument);
    if (!option) throw this.#unknown(argument);
    if (option.kind === 'value') this.#takeValue(argument, option);
    else this.#setOption(argument, option, null);
  }

  #doubleDash(argument: string): void {
    const equals = argument.indexOf('=');
    const name = equals < 0 ? argument : argument.slice(0, equals);
    const option = findOption(this.#scopes, name);
    if (!option) throw this.#unknown(name);
    if (equals >= 0 && option.kind === 'flag') throw new Fault(this.#at, `${name} takes no value`);
    if (equals >= 0) this.#setOption(name, option, argument.slice(equals + 1));
    else if (option.kind === 'value') this.#takeValue(name, option);
    else this.#setOption(name, option, null);
  }

  #bundle(argument: string): void {
    if (/^-[0-9]+$/.test(argument) && this.#scopes.some((scope) => scope.digits)) {
      this.#options.push(this.#at);
      return;
    }
    for (let offset = 1; offset < argument.length; offset++) {
      const name = `-${argument.charAt(offset)}`;
      const option = findOption(this.#scopes, name);
      if (!option) throw this.#unknown(name);
      const rest = argument.slice(offset + 1);
      if (option.kind === 'value' && rest === '') {
        this.#takeValue(name, option);
        return;
      }
      this.#setOption(name, option, option.kind === 'flag' || rest === '' ? null : rest);
      if (option.kind !== 'flag') return;
    }
  }

  #operand(argument: string): void {
    const { verbs } = this.#current;
    if (!verbs) {
      this.#operands.push(this.#at);
      return;
    }
    const verb = Object.entries(verbs).find(([known]) => splitNames(known).includes(argument));
    if (!verb) throw new Fault(this.#at, `${quote(argument)} is none of: ${Object.keys(verbs).join(' ')}`);
    this.#scopes.push(verb[1]);
  }

  #hasOption(group: string): boolean {
    return splitNames(group).some((name) => this.values.has(name));
  }

  #assign(spec: Operands): Pick<ParsedArguments, 'operands' | 'open'> {
    const rest = spec.at(-1)?.endsWith('...') ? spec.at(-1)?.slice(0, -3) : undefined;
    const fixed = rest === undefined ? spec : spec.slice(0, -1);
    const needed = fixed.filter((type) => !type.endsWith('?')).length;
    if (this.#operands.length < needed) throw new Fault(0, `needs ${needed} operand(s)`);
    const operands = this.#operands.map((index, n) => {
      const type = fixed[n]?.replace('?', '') ?? rest;
      if (type === undefined) throw new Fault(index, `${quote(this.argv[index] ?? '')} is one operand too many`);
      const fault = checkValue(this.types, type, this.argv[index] ?? '');
      if (fault !== null) throw new Fault(index, fault);
      return { index, type, repeated: n >= fixed.length };
    });
    return { operands, open: rest !== undefined && operands.length >= fixed.length ? rest : null };
  }

  #unknown(name: string): Fault {
    return new Fault(this.#at, `${quote(name)} is not among the options that are allowed here`);
  }
}

function isFirst(first: string, argument = ''): boolean {
  return splitNames(first).some((name) => argument === name || (/^-[^-]/.test(name) && argument.startsWith(name)));
}
