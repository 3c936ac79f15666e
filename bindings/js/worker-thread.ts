// SPDX-License-Identifier: Apache-2.0
/** What runs in a worker of a browser. It fetches nothing: the module comes with the first message. */

import { load } from './module.js';
import { serve } from './remote/serve.js';

const receive = serve(load, (reply, transfer) => postMessage(reply, { transfer }));
addEventListener('message', ({ data }) => receive(data));
