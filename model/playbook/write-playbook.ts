import { buildAccountTasks, type Variable } from './account-tasks.ts';
import type { Change, Gap } from './change/change.ts';
import { buildFileTasks, RELOAD } from './file-tasks.ts';
import { buildPackageTasks, type PackageTasks } from './package-tasks.ts';
import type { Task } from './tasks.ts';
import { toYaml, toYamlComment, Unsafe, type Value } from './yaml.ts';

export interface WrittenPlaybook {
  /** playbook.yml */
  text: string;
  /** Additional files, byte for byte. */
  files: { name: string; bytes: Uint8Array }[];
  variables: Variable[];
  packages: PackageTasks['said'];
  /** Gaps known before the check. */
  left: Gap[];
  tasks: number;
}

/**
 * Writes a change as a playbook with `ansible.builtin` modules only. Guest text is never evaluated as a template or as
 * YAML. Pure.
 */
export function writePlaybook(change: Change): WrittenPlaybook {
  const accounts = buildAccountTasks(change);
  const packages = buildPackageTasks(change);
  const files = buildFileTasks(change);
  const tasks = [...accounts.tasks, ...files.first, ...packages.tasks, ...files.last];
  const variables = [...accounts.variables, ...files.variables];
  return {
    text: textOf(change, tasks, variables),
    files: files.files,
    variables,
    packages: packages.said,
    left: [...accounts.left, ...packages.left, ...files.left],
    tasks: tasks.length,
  };
}

/** Handlers for machines that run systemd, detected like sd_booted(3). */
const RELOADING: Value = [
  {
    name: 'Look for systemd',
    listen: RELOAD,
    'ansible.builtin.stat': { path: '/run/systemd/system' },
    register: 'mayfly_systemd',
  },
  {
    name: 'Have systemd read its units',
    listen: RELOAD,
    'ansible.builtin.systemd_service': { daemon_reload: true },
    when: 'mayfly_systemd.stat.exists',
  },
];

function textOf(change: Change, tasks: readonly Task[], variables: readonly Variable[]): string {
  const isNotified = tasks.some(({ notify }) => notify === RELOAD);
  const play: Value = [
    {
      name: `What changed in ${change.sandboxId}`,
      hosts: 'all',
      gather_facts: false,
      become: true,
      ...(tasks.length > 0 && { tasks }),
      ...(isNotified && { handlers: RELOADING }),
    },
  ];
  return `${[...headOf(change, variables), '---'].join('\n')}${toYaml(play)}\n`;
}

function headOf({ sandboxId, base, commands }: Change, variables: readonly Variable[]): string[] {
  const needed = variables.map(({ name, of, kind }) =>
    toYamlComment(`  ${name}: ${kind === 'file' ? 'path of a file with the content' : kind} of ${of}`),
  );
  return [
    toYamlComment(
      `What makes of ${base} what ${sandboxId} is. Written by Mayfly; report.md says what it does not bring about.`,
    ),
    ...(needed.length > 0 ? [toYamlComment('It needs these variables (vars.example.yml):'), ...needed] : []),
    ...(commands.length > 0
      ? [toYamlComment('The commands that led there:'), ...commands.map((one) => toYamlComment(`  $ ${one}`))]
      : []),
  ];
}

/** vars.example.yml */
export function exampleOf(variables: readonly Variable[]): string {
  const lines = variables.flatMap(({ name, of, kind }) => {
    const value = kind === 'file' ? new Unsafe(`/path/to/${name}`) : new Unsafe('*');
    return [toYamlComment(`${kind} of ${of}`), `${name}: ${toYaml(value)}`];
  });
  return ['---', ...lines, ''].join('\n');
}
