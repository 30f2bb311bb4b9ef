import { expect, test } from 'vitest';
import { findCommand } from '../../../cli/catalog/leaf.ts';
import { createCommands } from '../../../cli/commands.ts';
import { remedyOf } from '../../../cli/terminal/remedies.ts';
import { ERRORS, type ErrorCode } from '../../../model/errors.ts';
import { quietIo } from '../run-line.ts';

const io = quietIo();

const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

test('no remedy at the command line names a route', () => {
  for (const code of ERROR_CODES) expect(remedyOf(code), code).not.toMatch(/\/v1\/|\b(GET|POST|PATCH|DELETE) /);
});

test('each command that a remedy names exists', async () => {
  for (const code of ERROR_CODES) {
    for (const [, words = ''] of remedyOf(code).matchAll(/`mayfly ([^`]+)`/g)) {
      const { command, rest } = await findCommand(createCommands(io), words.split(' '));
      expect([code, command.subCommands, rest.filter((word) => !word.startsWith('-'))]).toEqual([code, undefined, []]);
    }
  }
});
