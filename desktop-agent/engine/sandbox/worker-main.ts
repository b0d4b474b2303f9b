/**
 * Entry of a sandbox's worker: connects one interpreter to the thread's port.
 *
 * Owns nothing but that connection. It says `ready` when the interpreter is up and the port is listened to.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { SandboxSetup, ToSandbox } from '../sandbox-messages.ts';
import { GuestVm } from './guest-vm.ts';

const port = parentPort;
if (port === null) throw new Error('worker-main is the entry of a worker thread, not a program');

const { limits, rehearse } = workerData as SandboxSetup;
if (rehearse) await GuestVm.rehearse(limits);
const guest = await GuestVm.create(limits, (message) => port.postMessage(message));
port.on('message', (message: ToSandbox) => guest.receive(message));
port.postMessage({ type: 'ready' });
