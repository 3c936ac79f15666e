// SPDX-License-Identifier: Apache-2.0
/** Values computed by other implementations, family by family. */

import { describe, expect, it } from 'vitest';
import { cases } from './golden/cases.ts';
import { families, familyOf } from './golden/families.ts';

describe('golden values', () => {
  it('has cases to compare with', () => {
    expect(cases.length).toBeGreaterThan(15);
  });

  it('knows the family of every case', () => {
    expect(cases.map((one) => one.case).filter((name) => familyOf(name) === undefined)).toEqual([]);
  });

  // tools/golden-counts.mjs counts by these groups.
  for (const [prefix, family] of Object.entries(families)) {
    const members = cases.filter((one) => familyOf(one.case) === prefix);
    if (members.length === 0) continue;
    describe(prefix, () => {
      for (const one of members) {
        if ('notYet' in family) it.skip(`${one.case}, skipped: ${family.notYet}`, () => {});
        else it(one.case, () => family.run(one));
      }
    });
  }
});
