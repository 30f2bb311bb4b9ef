import { findFedPasswords } from './fed-passwords.ts';
import { findKnownFormats } from './known-text.ts';
import { findNamedSecrets } from './named-text.ts';
import { findFlagSecrets, getSecretOffset } from './program-flags.ts';
import { findScannerSecrets } from './scanner.ts';
import { isSecretName } from './secret-name.ts';
import { REDACTED, redactSpans, type Span } from './span.ts';

/** Flag whose value is the next argument. */
const FLAG = /^--?([A-Za-z][\w.-]{1,63})$/;
/** Flag or variable with its value. */
const ASSIGNED = /^([\w.-]{1,128})=/;

/**
 * Copies `value` without recognizable secrets: by the name of a field, variable or flag before them, or by format.
 * Other secrets stay, so callers must still not pass any.
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

/** Redacts a text like {@link redact}: a command line, a program's output, a document. */
export function redactText(text: string): string {
  return redactSpans(text, findSecrets(text));
}

/** Finds the secrets of a text; spans may overlap. */
export function findSecrets(text: string): Span[] {
  if (PLAIN.test(text)) return [];
  return [
    ...findKnownFormats(text),
    ...findNamedSecrets(text),
    ...findFlagSecrets(text),
    ...findFedPasswords(text),
    ...findScannerSecrets(text),
  ];
}

/** Redacts program arguments like {@link redact}: one can be a secret because of the one before it. */
export function redactArgv(argv: readonly string[]): string[] {
  const program = argv[0] ?? '';
  return argv.map((argument, at) => {
    const before = argv[at - 1] ?? '';
    const flag = FLAG.exec(before)?.[1];
    if (flag !== undefined && isSecretName(flag) && !argument.startsWith('-')) return REDACTED;
    const from = at === 0 ? null : (getAssignedOffset(argument) ?? getSecretOffset(program, before, argument));
    return from === null ? redactText(argument) : argument.slice(0, from) + REDACTED;
  });
}

/** Returns the offset of an assigned secret, which extends to the end of the argument regardless of shell syntax. */
function getAssignedOffset(argument: string): number | null {
  const [assigned, name = ''] = ASSIGNED.exec(argument) ?? [];
  return assigned && assigned.length < argument.length && isSecretName(name) ? assigned.length : null;
}

/** Texts that need no scan: too short for a known format, and without a separator after a name. */
const PLAIN = /^[\w.]{0,15}$/;

function isHidden(name: string, member: unknown): boolean {
  return member !== null && member !== undefined && typeof member !== 'boolean' && isSecretName(name);
}
