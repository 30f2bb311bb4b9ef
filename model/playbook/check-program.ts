import type { PlaybookRun, WrittenSummary } from './playbook.ts';
import { toYaml, Unsafe } from './yaml.ts';

/** Folder for checking a playbook; Mayfly's own in every guest, so comparisons exclude it. */
export const CHECK_FOLDER = '/var/lib/mayfly/check';

/**
 * Callback plugin that prints one line of JSON per run, which no guest output can imitate; changes go to standard
 * error.
 */
const CALLBACK = `import json
import sys
from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'mayfly'

    def __init__(self):
        super().__init__()
        self.message = None
        self.first = True

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if self.message is None and not ignore_errors:
            said = result._result.get('msg') or result._result.get('stderr') or 'it does not say why'
            self.message = str(result._task.get_name())[:200] + ': ' + str(said)[:1000]

    v2_runner_on_unreachable = v2_runner_on_failed

    def v2_runner_on_ok(self, result):
        if result._result.get('changed'):
            print('changed: ' + str(result._task.get_name())[:200], file=sys.stderr, flush=True)

    def v2_playbook_on_stats(self, stats):
        of = stats.summarize('localhost')
        failed = of['failures'] + of['unreachable']
        print(json.dumps({'changed': of['changed'], 'failed': failed, 'message': self.message}), flush=True)
`;

/** Applies the playbook twice: the second run should change nothing. */
const SCRIPT = `set -eu
cd "$1"
tar -xzf ansible.tar.gz
rm ansible.tar.gz
export LC_ALL=C.UTF-8 HOME="$1/home" ANSIBLE_HOME="$1/home" ANSIBLE_LOCAL_TEMP="$1/tmp" ANSIBLE_REMOTE_TEMP="$1/tmp"
export ANSIBLE_CALLBACK_PLUGINS="$1/callback" ANSIBLE_STDOUT_CALLBACK=mayfly ANSIBLE_NOCOLOR=1
export ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_INVENTORY_UNPARSED_WARNING=False ANSIBLE_PIPELINING=True
mkdir -p home tmp
for run in 1 2; do
  echo "run $run" >&2
  ansible/python -m ansible playbook -i localhost, -c local -e ansible_python_interpreter="$1/ansible/python" \\
    -e @vars.check.yml playbook.yml || exit 0
done`;

/** Command line in the guest, run as root. */
export const CHECK_ARGV = ['/bin/sh', '-c', SCRIPT, 'mayfly-check', CHECK_FOLDER];

/** Files beside the playbook: placeholders for secrets, which never enter the fresh sandbox. */
export function checkFiles(variables: WrittenSummary['variables']): { name: string; bytes: Uint8Array }[] {
  const encoder = new TextEncoder();
  const values = variables.map(({ name, kind }) => {
    const value = kind === 'file' ? new Unsafe(`${CHECK_FOLDER}/placeholder`) : new Unsafe('*');
    return `${name}: ${toYaml(value)}`;
  });
  return [
    { name: 'vars.check.yml', bytes: encoder.encode(['---', ...values, 'mayfly_is_tried: true', ''].join('\n')) },
    { name: 'placeholder', bytes: encoder.encode('in the place of a secret\n') },
    { name: 'callback/mayfly.py', bytes: encoder.encode(CALLBACK) },
  ];
}

/** Parses the results of finished runs. */
export function parseRuns(stdout: string): PlaybookRun[] {
  return stdout.split('\n').flatMap((line) => {
    const said = parseLine(line);
    if (typeof said?.changed !== 'number' || typeof said.failed !== 'number') return [];
    const message = typeof said.message === 'string' ? said.message : null;
    return [{ changed: said.changed, failed: said.failed, message }];
  });
}

function parseLine(line: string): { changed?: unknown; failed?: unknown; message?: unknown } | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' ? value : null;
  } catch {
    return null; // other output
  }
}
