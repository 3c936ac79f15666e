// SPDX-License-Identifier: Apache-2.0
// One program in the forms people start from.

/** As a file of a project that has installed the package. */
export const asModule = (module: string): string => `// npm install posenc\n${module}`;

/** As a page that stands alone beside the folder dist of the package. */
export function asPage(module: string): string {
  const program = module
    .replace("from 'posenc'", "from './posenc/index.js'")
    .replaceAll('console.log(', 'show(')
    // A word typed by a visitor must not end the script.
    .replaceAll('</', '<\\/');
  return `<!doctype html>
<meta charset="utf-8">
<title>posenc</title>
<pre id="out"></pre>
<script type="module">
// ./posenc/ is the folder dist of the package, served beside this page.
${program.trimEnd()}

function show(...values) {
  document.querySelector('#out').textContent += \`\${values.join(' ')}\\n\`;
}
</script>
`;
}

/** As lines for a shell. */
export const asCommand = (module: string): string => `npm install posenc
node --input-type=module <<'END'
${module.trimEnd()}
END
`;
