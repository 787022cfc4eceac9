/** The simulated providers as a command: `npm exec -- node sim/main.ts`. */
import { parseArgs } from 'node:util';
import { startSim } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4010' }, host: { type: 'string', default: '127.0.0.1' } },
});
const sim = await startSim({ port: Number(values.port), host: values.host });
console.log(`Simulated providers listen on ${sim.url} (journals: ${sim.url}/sim/journal, ${sim.url}/_sim/journal)`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void sim.close());
}
