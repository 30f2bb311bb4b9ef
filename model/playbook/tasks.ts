import { Unsafe, type Value } from './yaml.ts';

/** Task of a playbook, as YAML. */
export type Task = { readonly [field: string]: Value };

/** @param said subject of the task for display; replaced unless plain, since Ansible evaluates names as templates */
export function task(what: string, said: string, module: string, args: Task, more: Task = {}): Task {
  const about = /^[\w/.@+,: -]{1,120}$/.test(said) ? `${what} ${said}` : `${what} (its name is below)`;
  // ansible-lint's rule against tabs cannot be met by a name with a tab
  const tagged = said.includes('\t') ? { tags: ['skip_ansible_lint'] } : {};
  return { name: about, [`ansible.builtin.${module}`]: args, ...more, ...tagged };
}

/** Marks a text from a guest, which must never be evaluated as a template. */
export function markUnsafe(text: string): Unsafe {
  return new Unsafe(text);
}

/** Returns why Ansible cannot use a path: Python's `expandvars` expands `$` even in quotes; null when it can. */
export function getPathRefusal(path: string): string | null {
  if (/\$(?:\w|\{)/.test(path)) return 'Ansible takes a `$` in a path for a variable of the environment';
  if (path.length > 3_000) return 'its path is too long';
  return null;
}
