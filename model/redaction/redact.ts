import { spansFed } from './fed-passwords.ts';
import { spansByLooks } from './known-text.ts';
import { spansAfterNames } from './named-text.ts';
import { secretFrom, spansAfterFlags } from './program-flags.ts';
import { spansOfScanner } from './scanner.ts';
import { isSecretName } from './secret-name.ts';
import { REDACTED, type Span, withoutSpans } from './span.ts';

/** A flag whose value is the next argument. */
const FLAG = /^--?([A-Za-z][\w.-]{1,63})$/;
/** A flag, or a variable, with its value. */
const ASSIGNED = /^([\w.-]{1,128})=/;

/**
 * A copy of `value` without the secrets that can be recognised: by the name of a field, variable or flag before them, or by
 * their looks. What cannot be recognised stays, so callers still must not hand over secrets.
 */
export function redact<T>(value: T): T;
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value))
    return value.every((each) => typeof each === 'string') ? redactArgv(value) : value.map(redact);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array || value instanceof Date) return value;
  const isPair = 'name' in value && typeof value.name === 'string' && isSecretName(value.name);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      redactText(name),
      isHidden(isPair && name === 'value' ? 'secret' : name, member) ? REDACTED : redact(member),
    ]),
  );
}

/** As {@link redact}, of a text: a command line, what a program has printed, a document. */
export function redactText(text: string): string {
  return withoutSpans(text, secretSpans(text));
}

/** Where the secrets of a text stand; they may overlap. */
export function secretSpans(text: string): Span[] {
  if (PLAIN.test(text)) return [];
  return [
    ...spansByLooks(text),
    ...spansAfterNames(text),
    ...spansAfterFlags(text),
    ...spansFed(text),
    ...spansOfScanner(text),
  ];
}

/** As {@link redact}, of the arguments of a program: one can be a secret because of the one before it. */
export function redactArgv(argv: readonly string[]): string[] {
  const program = argv[0] ?? '';
  return argv.map((argument, at) => {
    const before = argv[at - 1] ?? '';
    const flag = FLAG.exec(before)?.[1];
    if (flag !== undefined && isSecretName(flag) && !argument.startsWith('-')) return REDACTED;
    const from = at === 0 ? null : (assignedFrom(argument) ?? secretFrom(program, before, argument));
    return from === null ? redactText(argument) : argument.slice(0, from) + REDACTED;
  });
}

/** The whole of an argument is the value, whatever else a shell would take for its end. */
function assignedFrom(argument: string): number | null {
  const [assigned, name = ''] = ASSIGNED.exec(argument) ?? [];
  return assigned && assigned.length < argument.length && isSecretName(name) ? assigned.length : null;
}

/** Nothing that is as short as this is a secret by its looks, and without a separator nothing names one. */
const PLAIN = /^[\w.]{0,15}$/;

function isHidden(name: string, member: unknown): boolean {
  return member !== null && member !== undefined && typeof member !== 'boolean' && isSecretName(name);
}
