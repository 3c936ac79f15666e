// SPDX-License-Identifier: Apache-2.0
// What training uses of the package.
import type { Options, Table } from '../model/settings.ts';

export interface Encoding {
  embed(x: Table): Table;
  embedBackward(gradOutput: Table): Readonly<Record<string, Table>>;
  dispose(): void;
}
export interface AttentionOptions {
  readonly layout: 'bnhd';
  readonly causal: true;
  readonly logSumExp?: true;
  readonly weights?: true;
  readonly encoding?: Encoding;
}
export interface Package {
  encoding(id: string, options: Options): Encoding;
  attention(
    q: Table,
    k: Table,
    v: Table,
    options: AttentionOptions,
  ): { output: Table; logSumExp?: Table; weights?: Table };
  attentionBackward(
    q: Table,
    k: Table,
    v: Table,
    output: Table,
    logSumExp: Table,
    gradOutput: Table,
    options: AttentionOptions,
  ): {
    dq: Table;
    dk: Table;
    dv: Table;
    encodings: readonly Readonly<Record<string, Table>>[];
  };
}
