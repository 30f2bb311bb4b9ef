import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { keyCommand, typeCommand } from './keys.ts';
import { lookCommand } from './look.ts';
import { openCommand } from './open.ts';
import { clickCommand, dragCommand, moveCommand, scrollCommand } from './pointer.ts';
import { screenshotCommand } from './screenshot.ts';
import { streamCommand } from './stream.ts';

/** `mayfly desktop …` */
export function desktopCommand(io: Io) {
  return defineCommand({
    subCommands: {
      screenshot: screenshotCommand(io),
      windows: lookCommand(io),
      open: openCommand(io),
      click: clickCommand(io),
      move: moveCommand(io),
      drag: dragCommand(io),
      scroll: scrollCommand(io),
      type: typeCommand(io),
      key: keyCommand(io),
      stream: streamCommand(io),
    },
  });
}
