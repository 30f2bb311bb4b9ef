import { describe, expect, it } from 'vitest';
import { type ApprovalRecord, getApprovalAsOf, getDecisionRefusal } from '../../model/approvals/approval.ts';
import {
  ANY_COMMAND,
  getRequestedCommands,
  isCommandPattern,
  matchCommand,
  matchElevation,
} from '../../model/approvals/command-pattern.ts';
import { evaluatePolicy, getCountRule } from '../../model/approvals/policy.ts';
import type { PolicyRule } from '../../model/approvals/policy-rules.ts';
import { parseShellCommands } from '../../model/approvals/shell-commands.ts';
import { toVisibleJson } from '../../model/approvals/visible-text.ts';
import type { Scope } from '../../model/scopes.ts';
import { ownProcessorMs } from '../support/processor-time.ts';

describe('the commands of a line', () => {
  it.each([
    ['nc -l 80', [['nc', '-l', '80']]],
    ['sync ', [['sync']]],
    ['a && b || c; d | e & f\ng', [['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['g']]],
    [`'n'"c" "-l x"`, [['nc', '-l x']]],
    [`echo $HOME "\${X}"`, [['echo', null, null]]],
    ['$X y', [[null, 'y']]],
    ['ls *.txt ~ {a,b}', [['ls', null, null, null]]],
    ['A=1 B=2 make all', [['make', 'all']]],
    ['if true; then nc x; fi', [['true'], ['nc', 'x']]],
    ['{ nc x; }', [['nc', 'x']]],
    ['a >out 2>&1 <in b', [['a', 'b']]],
    ['a # nc\nb', [['a'], ['b']]],
    ['a#b', [['a#b']]],
    ['', []],
  ])('%s', (line, commands) => expect(parseShellCommands(line)).toEqual(commands));

  it.each([
    'n\\c',
    '$(printf nc)',
    '`printf nc`',
    '"$(printf nc)"',
    '"`nc`"',
    `\${X:-$(nc)}`,
    `"\${X:-$(nc)}"`,
    "$'\\x6ec'",
    '$"nc"',
    '(nc)',
    'f() { nc; }',
    'cat <<E\nnc\nE',
    'cat <(nc)',
    'for x in nc; do $x; done',
    'case x in x) nc;; esac',
    'PATH=/tmp ls',
    'LD_PRELOAD=x ls',
    `'open`,
    '"open',
    'true &>/dev/null nc',
    'true &>>out nc',
    'a |& nc',
    'a >&out',
    'a >& out',
    'a 12>x',
    '{fd}>x nc',
    'A+=x nc',
    'a >! x nc',
    'a >>| nc',
    '=nc x',
    'noglob nc',
    '- nc',
    'not nc',
    'n\u200bc',
    'n\u202ec',
    'a\rb',
    '>',
  ])('%j is unclear', (line) => expect(parseShellCommands(line)).toBeNull());

  it('nested lines are parsed once, for any number of shell words', () => {
    const began = ownProcessorMs();
    const shells = 'sh '.repeat(60);
    const third = `env ${shells} -c "${'a b;'.repeat(10_000)}"`;
    const runs = getRequestedCommands({ argv: ['env', ...Array(60).fill('sh'), '-c', `env ${shells} -c '${third}'`] });
    for (let n = 0; n < 100; n++) matchCommand(runs, `nc -l ${n}`);
    expect(matchElevation(runs)).not.toBe('matches');
    expect(matchCommand(getRequestedCommands({ command: 'sudo a;'.repeat(18_000) }), 'nc')).toBe('unclear');
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });

  it('takes time linear in the length of a line', () => {
    const began = ownProcessorMs();
    for (const part of ['1;', '""', '$a ', "''", '# ', '>a ']) parseShellCommands(part.repeat(65_000));
    const short = ownProcessorMs() - began;
    for (const part of ['1;', '""', '$a ', "''", '# ', '>a ']) parseShellCommands(part.repeat(260_000));
    expect((ownProcessorMs() - began - short) / short).toBeLessThan(12);
  });
});

describe('a pattern of a command', () => {
  it.each([
    ['nc', 'nc -l 80', 'matches'],
    ['nc', '/usr/bin/nc x', 'matches'],
    ['nc', 'sync', 'differs'],
    ['nc', 'echo nc', 'differs'],
    ['nc', 'echo a | nc b', 'matches'],
    ['nc', 'n\\c', 'unclear'],
    ['nc', '$(printf nc) x', 'unclear'],
    ['nc', 'sudo -u x nc y', 'matches'],
    ['nc', 'sudo apt-get install x', 'differs'],
    ['nc', 'timeout 5 env A=1 nc y', 'matches'],
    ['nc', 'env PATH=/x ls', 'unclear'],
    ['nc', `env -S 'nc x'`, 'unclear'],
    ['nc', `sh -c 'nc x'`, 'matches'],
    ['nc', `bash -lc 'sync'`, 'differs'],
    ['nc', `sudo bash -c "sh -c 'nc'"`, 'matches'],
    ['nc', 'bash -c $X', 'unclear'],
    ['nc', `sh -c 'true &>/dev/null nc'`, 'unclear'],
    ['nc', `fish -c ls`, 'unclear'],
    ['nc', 'zsh script', 'differs'],
    ['nc', 'bash', 'unclear'],
    ['nc', 'bash < x', 'unclear'],
    ['nc', 'bash script.sh', 'differs'],
    ['nc', 'python3 main.py', 'differs'],
    ['nc', `python3 -c 'import os'`, 'unclear'],
    ['nc', 'python3 /dev/stdin', 'unclear'],
    ['nc', 'eval nc', 'unclear'],
    ['nc', 'find . -exec nc {} +', 'unclear'],
    ['nc', 'find . -exec nc x +', 'matches'],
    ['nc', 'export PATH=/x', 'unclear'],
    ['nc', 'time -p nc x', 'matches'],
    ['nc', 'time -- nc x', 'matches'],
    ['nc', 'taskset 1 nc x', 'matches'],
    ['nc', '/lib64/ld-linux-x86-64.so.2 /bin/nc', 'matches'],
    ['nc', `test -v 'a[$(nc)]'`, 'unclear'],
    ['nc', `[ -v 'a[$(nc)]' ]`, 'unclear'],
    ['nc', `printf -v 'a[\`nc\`]' x`, 'unclear'],
    ['nc', 'if [ -f x ]; then test -n x; fi', 'differs'],
    ['nc', 'hash -p /bin/nc ls', 'unclear'],
    ['nc', 'compgen -C nc', 'unclear'],
    ['git push', 'git -C /x push origin', 'matches'],
    ['git push', 'git pull', 'differs'],
    ['git push', 'git $X', 'unclear'],
    ['git push', 'xargs git', 'unclear'],
    ['rm *r* /*', 'rm -rf /etc', 'matches'],
    ['rm *r* /*', 'rm -f x', 'differs'],
    ['curl *.example.com*', 'curl https://a.example.com/x', 'matches'],
    ['/bin/nc', '/usr/bin/nc', 'differs'],
    ['*', 'ls', 'matches'],
  ])('%s and %s: %s', (pattern, command, match) => {
    expect(matchCommand(getRequestedCommands({ command }), pattern)).toBe(match);
  });

  it('parses an argv without a shell', () => {
    expect(matchCommand(getRequestedCommands({ argv: ['echo', '$(nc)'] }), 'nc')).toBe('differs');
    expect(matchCommand(getRequestedCommands({ argv: ['sh', '-c', 'nc'] }), 'nc')).toBe('matches');
    expect(matchCommand(getRequestedCommands({ argv: ['ls'], env: { LD_PRELOAD: 'x' } }), 'nc')).toBe('unclear');
    expect(matchCommand(getRequestedCommands({ argv: ['ls'], env: { LANG: 'x' } }), 'nc')).toBe('differs');
  });

  it('recognizes elevation', () => {
    expect(matchElevation(getRequestedCommands({ command: 'ls', user: 'root' }))).toBe('matches');
    expect(matchElevation(getRequestedCommands({ command: 'timeout 3 sudo ls' }))).toBe('matches');
    expect(matchElevation(getRequestedCommands({ command: 'ls' }))).toBe('differs');
    expect(matchElevation(getRequestedCommands({ command: 'su\\do ls' }))).toBe('unclear');
  });

  it.each(['', ' nc', 'nc  x', 'a b c d e f g h i', 'n\nc', 'ñc'])('%j is not a pattern', (text) => {
    expect(isCommandPattern(text)).toBe(false);
  });

  it('terminates for pathological arguments', () => {
    const words = Array.from({ length: 1_024 }, () => 'env');
    expect(matchCommand(getRequestedCommands({ argv: words }), 'env env env env env env env x')).toBe('unclear');
    expect(matchCommand(getRequestedCommands({ argv: ['x', 'a'.repeat(131_000)] }), `x ${'a*'.repeat(100)}b`)).toBe(
      'differs',
    );
  });
});

describe('text of a caller under decision', () => {
  it.each([
    '\ufe0f',
    '\u3164',
    '\u115f',
    '\u2800',
    '\u034f',
    '\u200b',
    '\u00ad',
    '\u00a0',
    '\u202e',
    '\u{e0041}',
    '\n',
    '\u{1d159}',
  ])('shows a hidden %j escaped', (char) => {
    const shown = toVisibleJson({ command: `in${char}stall` });
    expect(shown).toMatch(/^\{"command":"in\\(?:n|u[0-9a-f]{4})(?:\\u[0-9a-f]{4})?stall"\}$/);
  });

  it('is otherwise unchanged', () => {
    const text = 'git commit -m "größer 你好 😀"';
    expect(toVisibleJson(text)).toBe(JSON.stringify(text));
  });
});

it('the rule with the lowest sandbox limit applies', () => {
  const rules = [
    rule({ sandboxesOver: 5 }, 'deny'),
    rule({ sandboxesOver: 3 }, 'ask', { name: 'b' }),
    rule({ egress: 'internet' }, 'deny'),
  ];
  expect(getCountRule(rules, ['deny', 'ask'])).toEqual({ sandboxes: 3, rules: ['b'] });
  expect(getCountRule(rules, ['deny'])).toEqual({ sandboxes: 5, rules: ['a'] });
  expect(getCountRule([], ['deny'])).toBeUndefined();
});

it('denies a login when any command or elevation is denied', () => {
  for (const when of [{ command: 'nc' }, { command: '*' }, { elevation: true }] as const) {
    expect(evaluatePolicy([rule(when, 'deny')], { runs: ANY_COMMAND })).toMatchObject({ effect: 'deny' });
    expect(evaluatePolicy([rule(when, 'ask')], { runs: ANY_COMMAND })).toMatchObject({ effect: 'ask' });
  }
});

function rule(when: PolicyRule['when'], effect: PolicyRule['effect'], more: Partial<PolicyRule> = {}): PolicyRule {
  return { name: 'a', when, effect, role: 'approvals:decide', expiresSeconds: 3_600, ...more };
}

describe('a policy', () => {
  it('applies the strictest rule', () => {
    const rules = [
      rule({ egress: 'internet' }, 'allow'),
      rule({ egress: 'internet' }, 'ask', { name: 'b', role: 'admin' }),
      rule({ memoryMibOver: 1_024 }, 'ask', { name: 'c', expiresSeconds: 60 }),
      rule({ sandboxesOver: 5 }, 'deny', { name: 'd' }),
    ];
    expect(evaluatePolicy(rules, { egress: 'none', memoryMib: 1_024, sandboxes: 5 })).toEqual({ effect: 'allow' });
    expect(evaluatePolicy(rules, { egress: 'internet', memoryMib: 2_048 })).toEqual({
      effect: 'ask',
      rules: ['b', 'c'],
      role: 'admin',
      expiresSeconds: 60,
    });
    expect(evaluatePolicy(rules, { egress: 'internet', sandboxes: 6 })).toEqual({ effect: 'deny', rules: ['d'] });
  });

  it('requires approval when a match of a denying rule is unclear', () => {
    const rules = [rule({ command: 'nc' }, 'deny')];
    expect(evaluatePolicy(rules, { runs: getRequestedCommands({ command: 'nc x' }) }).effect).toBe('deny');
    expect(evaluatePolicy(rules, { runs: getRequestedCommands({ command: 'n\\c x' }) }).effect).toBe('ask');
    expect(evaluatePolicy(rules, { runs: getRequestedCommands({ command: 'sync' }) }).effect).toBe('allow');
    expect(evaluatePolicy(rules, { runs: { commands: null, user: null } }).effect).toBe('ask');
    expect(
      evaluatePolicy([rule({ command: 'nc' }, 'allow')], { runs: getRequestedCommands({ command: 'n\\c' }) }).effect,
    ).toBe('allow');
  });
});

describe('an approval', () => {
  const asked = {
    state: 'approved',
    project: 'p',
    role: 'approvals:decide',
    askedBy: { apiKeyId: 'asker', agentId: 'bot', project: 'p' },
    askedAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-01-01T01:00:00.000Z',
  } as ApprovalRecord;
  const key = (more: object = {}) => ({
    id: 'decider',
    project: 'p',
    scopes: ['approvals:decide'] as Scope[],
    createdAt: '2025-01-01T00:00:00.000Z',
    ...more,
  });

  it('expires, approved or not, and keeps a final state', () => {
    const end = Date.parse(asked.expiresAt);
    expect(getApprovalAsOf(asked, end - 1).state).toBe('approved');
    expect(getApprovalAsOf(asked, end).state).toBe('expired');
    expect(getApprovalAsOf({ ...asked, state: 'used' }, end).state).toBe('used');
  });

  it.each([
    [key(), 'person', null],
    [key(), null, null],
    [key({ scopes: ['admin'] }), null, null],
    [key({ scopes: ['operator'], project: 'q' }), null, null],
    [key({ scopes: ['sandboxes:write'] }), null, 'scope'],
    [key({ scopes: ['admin'], project: 'q' }), null, 'project'],
    [key({ id: 'asker', scopes: ['operator'] }), null, 'who asks'],
    [key(), 'bot', 'agent'],
    [key({ createdAt: '2026-01-01T00:00:01.000Z' }), null, 'after'],
  ])('is decided only by an allowed approver: %j as %s', (approver, agentId, why) => {
    const told = getDecisionRefusal(asked, approver, agentId);
    if (why === null) expect(told).toBeNull();
    else expect(told).toContain(why);
  });
});
