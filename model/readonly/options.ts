import type { Arguments } from './table.ts';

export interface Option {
  kind: 'flag' | 'value' | 'optional';
  /** Type of its value; empty for a flag. */
  type: string;
}

/** Finds an option by name in the innermost subcommand that defines it. */
export function findOption(scopes: readonly Arguments[], name: string): Option | undefined {
  for (const scope of [...scopes].reverse()) {
    if (splitNames(scope.flags).includes(name)) return { kind: 'flag', type: '' };
    const type = typeOf(scope.values, name);
    if (type !== undefined) return { kind: 'value', type };
    const optional = typeOf(scope.optional, name);
    if (optional !== undefined) return { kind: 'optional', type: optional };
  }
  return undefined;
}

/** Splits one of the table's lists. */
export function splitNames(list: string | undefined): string[] {
  return list === undefined ? [] : list.split(' ');
}

function typeOf(options: Record<string, string> | undefined, name: string): string | undefined {
  return Object.entries(options ?? {}).find(([list]) => splitNames(list).includes(name))?.[1];
}
