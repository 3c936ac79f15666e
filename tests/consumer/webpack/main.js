// SPDX-License-Identifier: Apache-2.0
import './show-output.js';
import './example.js';
