import { defineCommand } from 'citty';
import type { Io } from '../terminal/io.ts';
import { createCommand } from './create.ts';
import { deliveriesCommand, recoverCommand, redeliverCommand } from './deliveries.ts';
import { deleteCommand, enableCommand, listCommand, rotateCommand, showCommand } from './endpoints.ts';

/** `mayfly webhook create|list|show|enable|rotate|delete`, and of what was sent `deliveries|redeliver|recover` */
export function webhookCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      show: showCommand(io),
      enable: enableCommand(io),
      rotate: rotateCommand(io),
      delete: deleteCommand(io),
      deliveries: deliveriesCommand(io),
      redeliver: redeliverCommand(io),
      recover: recoverCommand(io),
    },
  });
}
