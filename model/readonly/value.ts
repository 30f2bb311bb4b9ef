import { checkAwkProgram } from './awk-program.ts';
import { checkSedScript } from './sed-script.ts';
import type { ValueType } from './table.ts';

/** Built-in types of programs.json; each returns why a value is invalid, or null. */
const BUILT_IN: Record<string, (value: string) => string | null> = {
  text: () => null,
  path: (value) => (value === '' ? 'a path cannot be empty' : null),
  file: fileFault,
  awkProgram: checkAwkProgram,
  sedScript: checkSedScript,
};

/** Types that accept any unchecked item of xargs. */
export const UNCHECKED_ITEM_TYPES: readonly string[] = ['text', 'path', 'file'];
export function isBuiltIn(type: string): boolean {
  return Object.hasOwn(BUILT_IN, type);
}

/** Returns why a value does not match a type, or null. */
export function checkValue(types: Record<string, ValueType>, type: string, value: string): string | null {
  const builtIn = BUILT_IN[type];
  if (builtIn) return builtIn(value);
  const defined = types[type];
  if (!defined) throw new TypeError(`programs.json has no type ${type}`);
  if ('words' in defined) {
    return defined.words.split(' ').includes(value) ? null : `${quote(value)} is none of: ${defined.words}`;
  }
  const whole = new RegExp(`^(?:${defined.pattern})$`, defined.ignoreCase ? 'i' : '');
  return whole.test(value) ? null : `${quote(value)} is not allowed here (${type})`;
}

/** True when a separate value may start with `-`. */
export function canStartWithDash(type: string): boolean {
  return !isBuiltIn(type);
}

export function quote(value: string): string {
  return `\`${value.length > 40 ? `${value.slice(0, 40)}…` : value}\``;
}

/**
 * Refuses connections, devices and special kernel files by name. Connections are URLs and gawk's `/inet/…`; reads of
 * some devices never end or have side effects; kernel files are those readable only once, and memory and environment of
 * processes. Prevents mistakes only; the actual protection is the unprivileged gate.
 */
function fileFault(value: string): string | null {
  if (value === '') return 'a path cannot be empty';
  const path = normalizePath(value);
  const connection = /^[A-Za-z][A-Za-z0-9+.-]*:/.test(value) || /^\/inet[46]?(?:\/|$)/.test(path);
  const device = /^\/dev(?:\/|$)/.test(path) && !/^\/dev\/(?:null|stdin|shm\/[\s\S]+)$/.test(path);
  const kernel = /^\/proc\/(?:kmsg|kcore|(?:[^/]+\/)+(?:environ|mem|auxv))$|\/trace_pipe(?:_raw)?$/.test(path);
  return connection || device || kernel ? `${quote(value)} is not a file that may be read` : null;
}

/** Normalizes a path from the root, where every program starts. */
function normalizePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
