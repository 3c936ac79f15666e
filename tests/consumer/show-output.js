// SPDX-License-Identifier: Apache-2.0
// Shows on the page what the example prints.
console.log = (...words) => {
  document.querySelector('pre').append(`${words.join(' ')}\n`);
};
