import { Unsafe, type Value } from './yaml.ts';

/** One task of a playbook, as YAML has it. */
export type Task = { readonly [field: string]: Value };

/** @param said what it is about, for people: shown where it is plain, since Ansible takes names for templates */
export function task(what: string, said: string, module: string, args: Task, more: Task = {}): Task {
  const about = /^[\w/.@+,: -]{1,120}$/.test(said) ? `${what} ${said}` : `${what} (its name is below)`;
  // Its rule against tabs cannot be met where a name has one.
  const tagged = said.includes('\t') ? { tags: ['skip_ansible_lint'] } : {};
  return { name: about, [`ansible.builtin.${module}`]: args, ...more, ...tagged };
}

/** Of a guest: never a template. */
export function literal(text: string): Unsafe {
  return new Unsafe(text);
}

/** What Ansible would expand in a path: `expandvars` of Python, which no quoting keeps from it. */
export function whyNotPath(path: string): string | null {
  if (/\$(?:\w|\{)/.test(path)) return 'Ansible takes a `$` in a path for a variable of the environment';
  if (path.length > 3_000) return 'its path is too long';
  return null;
}
