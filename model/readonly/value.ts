import { awkProgramFault } from './awk-program.ts';
import { sedScriptFault } from './sed-script.ts';
import type { ValueType } from './table.ts';

/** Types that programs.json need not define: what is wrong with a value, or null. */
const BUILT_IN: Record<string, (value: string) => string | null> = {
  text: () => null,
  path: (value) => (value === '' ? 'a path cannot be empty' : null),
  file: fileFault,
  awkProgram: awkProgramFault,
  sedScript: sedScriptFault,
};

/** Types for which any value will do that xargs puts there without anybody having seen it. */
export const UNSEEN: readonly string[] = ['text', 'path', 'file'];
export function isBuiltIn(type: string): boolean {
  return Object.hasOwn(BUILT_IN, type);
}

/** What is wrong with a value of a type, or null. */
export function valueFault(types: Record<string, ValueType>, type: string, value: string): string | null {
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

/** Whether a value that is an argument of its own may start with `-`. */
export function mayStartWithDash(type: string): boolean {
  return !isBuiltIn(type);
}

export function quote(value: string): string {
  return `\`${value.length > 40 ? `${value.slice(0, 40)}…` : value}\``;
}

/**
 * What some program would take for a connection (a URL, gawk's `/inet/…`), devices (reading some never ends, reading others changes them), what the kernel hands out once, and the memory and
 * environment of processes. By name only: it spares mistakes; what holds is that the gate runs unprivileged.
 */
function fileFault(value: string): string | null {
  if (value === '') return 'a path cannot be empty';
  const path = lexical(value);
  const connection = /^[A-Za-z][A-Za-z0-9+.-]*:/.test(value) || /^\/inet[46]?(?:\/|$)/.test(path);
  const device = /^\/dev(?:\/|$)/.test(path) && !/^\/dev\/(?:null|stdin|shm\/[\s\S]+)$/.test(path);
  const kernel = /^\/proc\/(?:kmsg|kcore|(?:[^/]+\/)+(?:environ|mem|auxv))$|\/trace_pipe(?:_raw)?$/.test(path);
  return connection || device || kernel ? `${quote(value)} is not a file that may be read` : null;
}

/** The path from the root, where every program starts, without `.`, `..` and empty parts. */
function lexical(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
