// SPDX-License-Identifier: Apache-2.0
/** What runs in a worker of Node. */

import { parentPort } from 'node:worker_threads';
import { load } from './module.js';
import { serve } from './remote/serve.js';

const receive = serve(load, (reply, transfer) => parentPort?.postMessage(reply, transfer));
parentPort?.on('message', receive);
