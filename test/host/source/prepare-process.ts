/** Prepares a source as a host worker, to be killed midway: `prepare-process.ts STATE NAME ID CAKEY`. */
import { SimulatedHypervisor } from '../../../host/simulated/driver.ts';
import { StateDir } from '../../../host/state-dir.ts';
import { prepareHere } from './prepare-here.ts';

const [, , root = '', name = '', id = '', caKey = ''] = process.argv;
const hypervisor = new SimulatedHypervisor({ state: new StateDir(root) });
process.stdout.write('begins\n');
await prepareHere((await hypervisor.runningSource(name)).console, id, [caKey]);
process.stdout.write('done\n');
