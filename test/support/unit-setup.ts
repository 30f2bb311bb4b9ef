import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { Server } from 'node:net';

/** Refuses to start programs and servers in a unit test: such a file is an `.integration.test.ts`. */
function refuse(what: string) {
  return (): never => {
    throw new Error(`a unit test starts no ${what}: rename its file to .integration.test.ts`);
  };
}

Object.assign(childProcess.ChildProcess.prototype, { spawn: refuse('program') });
childProcess.spawnSync = refuse('program');
childProcess.execFileSync = refuse('program');
childProcess.execSync = refuse('program');
Server.prototype.listen = refuse('server');
syncBuiltinESMExports();
