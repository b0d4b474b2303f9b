/** A process that logs and then fails as it is told: `uncaught` or `unhandled`. Started by server.test.ts. */
import { createProcessLog } from '../../protocol/host/logging.ts';
import { endOnFault } from '../../protocol/host/process.ts';

const log = createProcessLog({ component: 'fault', level: 'info', terminal: false });
endOnFault(log);
for (let n = 1; n <= 50; n += 1) log.info('before', { n });

const error = new Error('the last words');
if (process.argv[2] === 'unhandled') void Promise.reject(error);
else setImmediate(() => raise(error));

function raise(what: Error): never {
  throw what;
}
