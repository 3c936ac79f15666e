// SPDX-License-Identifier: Apache-2.0
// The page as every test file of a run has it: built and served once, before the first of them.
import type { TestProject } from 'vitest/node';
import { buildPage, serve } from './page-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    page: { readonly folder: string; readonly address: string };
  }
}

export default async function build(project: TestProject): Promise<() => void> {
  const folder = buildPage(project.name);
  const { server, address } = await serve(folder);
  project.provide('page', { folder, address });
  return () => void server.kill();
}
