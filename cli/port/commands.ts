import { nounCommand } from '../terminal/command.ts';
import { forwardCommand } from './forward.ts';
import { closeCommand, listCommand, openCommand, tokenCommand } from './open-port.ts';

/** `mayfly port forward|open|list|token|close` */
export const portCommand = nounCommand({
  forward: forwardCommand,
  open: openCommand,
  list: listCommand,
  token: tokenCommand,
  close: closeCommand,
});
