// SPDX-License-Identifier: Apache-2.0
// The manifest has each formula as a line of plain text. The build turns it into MathML, by way of TeX, and into words for ears.
import { pathToFileURL } from 'node:url';
import { parseHTML } from 'linkedom';
import temml from 'temml';
import type { Plugin } from 'vite';
import type { Branch, Written } from './src/parts/formula.ts';

/** Words of a sentence, as opposed to names of quantities. */
const prose =
  /^(if|else|for|and|or|mixed|amplitude|axes|frequencies|coordinates|by|variant|chunks|apart)$/;
const functions = /^(sin|cos|exp|ln|log|min|max)$/;

const low: Readonly<Record<string, string>> = {
  ᵢ: 'i',
  ⱼ: 'j',
  ₘ: 'm',
  ₜ: 't',
  ₕ: 'h',
  '₁': '1',
  '₂': '2',
};
const high: Readonly<Record<string, string>> = { ᴷ: 'K', ʳ: 'r', ˣ: 'x', ʸ: 'y', ʰ: 'h', ʷ: 'w' };
/** In TeX, and in words. */
const signs: Readonly<Record<string, readonly [string, string]>> = {
  α: ['\\alpha ', 'alpha'],
  δ: ['\\delta ', 'delta'],
  ζ: ['\\zeta ', 'zeta'],
  λ: ['\\lambda ', 'lambda'],
  μ: ['\\mu ', 'mu'],
  ρ: ['\\rho ', 'rho'],
  σ: ['\\sigma ', 'sigma'],
  φ: ['\\varphi ', 'phi'],
  ψ: ['\\psi ', 'psi'],
  ω: ['\\omega ', 'omega'],
  Δ: ['\\Delta ', 'delta'],
  Σ: ['\\sum ', 'the sum'],
  '−': ['-', 'minus'],
  '±': ['\\pm ', 'plus or minus'],
  '·': ['\\cdot ', 'times'],
  '×': ['\\times ', 'times'],
  '≤': ['\\le ', 'at most'],
  '≥': ['\\ge ', 'at least'],
  '<': ['<', 'below'],
  '>': ['>', 'above'],
  '←': ['\\leftarrow ', 'becomes'],
  '…': ['\\dots ', 'and so on'],
  '⌊': ['\\lfloor ', 'floor of'],
  '⌋': ['\\rfloor ', ','],
  '+': ['+', 'plus'],
  '=': ['=', 'equals'],
  '/': ['/', 'over'],
  '|': ['|', 'bar'],
  '[': ['[', 'at'],
  ']': [']', ','],
  '?': ['\\mathbin{?}', 'then'],
  ':': ['\\mathbin{:}', 'else'],
  "'": ["'", 'prime'],
  '(': ['(', 'open'],
  ')': [')', 'close'],
  ',': [',', ','],
  ';': [';', ';'],
  '.': ['.', 'dot'],
};

/** Where the bracket that opens at `start` closes. */
function closing(text: string, start: number): number {
  const [open, shut] = text[start] === '{' ? ['{', '}'] : ['(', ')'];
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === open) depth += 1;
    if (text[i] === shut) depth -= 1;
    if (depth === 0) return i;
  }
  throw new Error(`a formula has an open bracket: ${text}`);
}

/** A raised, lowered or rooted part: what it is made of, and where the text goes on. */
function operand(text: string, at: number): [string, number] {
  if (text[at] === '(' || text[at] === '{') {
    const end = closing(text, at);
    return [text.slice(at + 1, end), end + 1];
  }
  const [one = ''] = /^(\p{L}[ᵢⱼₘₜₕ₁₂]?|\d+)/u.exec(text.slice(at)) ?? [];
  return [one, at + one.length];
}

/** What a sign is called where it stands. */
function said(text: string, at: number): string {
  const sign = text[at] as string;
  // A choice has its condition before it; elsewhere a colon introduces.
  if (sign === ':' && !text.slice(0, at).includes('?')) return ',';
  if (sign === '[' && !/\p{L}/u.test(text[at - 1] ?? '')) return 'open';
  return signs[sign]?.[1] ?? '';
}

/** Both ways of writing at once, so that neither says what the other does not. */
function written(text: string): { tex: string; spoken: string } {
  let tex = '';
  let spoken = '';
  const say = (words: string): void => {
    spoken += ` ${words}`;
  };
  const nested = (at: number, mark: string, before: string, after: string): number => {
    const [inner, next] = operand(text, at);
    const part = written(inner);
    tex += `${mark}{${part.tex}}`;
    say(`${before} ${part.spoken}${after}`);
    return next;
  };
  for (let i = 0; i < text.length; ) {
    const sign = text[i] as string;
    const [word = ''] = /^[A-Za-z]{2,}/.exec(text.slice(i)) ?? [];
    const [number = ''] = /^\d+(\.\d+)?/.exec(text.slice(i)) ?? [];
    if (text.startsWith('..', i)) {
      tex += '\\dots ';
      say('to');
      i += 2;
    } else if (word) {
      tex += functions.test(word)
        ? `\\${word} `
        : prose.test(word)
          ? `\\text{${i > 0 ? ' ' : ''}${word}${text[i + word.length] === ' ' ? ' ' : ''}}`
          : word === 'mod'
            ? '\\mathbin{\\mathrm{mod}}'
            : `\\mathrm{${word}}`;
      say(word.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase());
      i += word.length;
    } else if (number) {
      tex += number;
      say(number);
      i += number.length;
    } else if (text[i + 1] === '\u0304') {
      tex += `\\bar{${sign}}`;
      say(`${sign} bar`);
      i += 2;
    } else if (sign === '^') i = nested(i + 1, '^', 'to the power of', ',');
    else if (sign === '_') i = nested(i + 1, '_', 'sub', ',');
    else if (sign === '√') i = nested(i + 1, '\\sqrt', 'the root of', ',');
    else {
      if (sign in low) {
        tex += `_{${low[sign]}}`;
        say(`sub ${low[sign]}`);
      } else if (sign in high) {
        tex += `^{${high[sign]}}`;
        say(`super ${high[sign]}`);
      } else if (sign in signs) {
        tex += signs[sign]?.[0];
        say(said(text, i));
      } else if (/[A-Za-z]/.test(sign)) {
        tex += sign;
        say(sign);
      } else if (/\s/.test(sign)) tex += ' ';
      else throw new Error(`no way to write ${sign} of a formula: ${text}`);
      i += 1;
    }
  }
  return {
    tex,
    spoken: spoken
      .replace(/the sum sub/g, 'the sum over')
      .replace(/\s+([,;])/g, '$1')
      .replace(/,(\s*,)+/g, ',')
      .replace(/\s+/g, ' ')
      .trim(),
  };
}

/** Pieces between which a line may break, since browsers break none within MathML: before operators, after commas. */
function pieces(text: string): string[] {
  const found: string[] = [];
  let piece = '';
  for (let i = 0; i < text.length; i += 1) {
    if (/[\^_√]/.test(text[i] as string) && /[({]/.test(text[i + 1] ?? '')) {
      const end = closing(text, i + 1);
      piece += text.slice(i, end + 1);
      i = end;
      continue;
    }
    const breaks =
      text[i] === ' ' &&
      (/[,;]$/.test(piece) || /^([=+−·←<>≤≥|]|\p{L}{2,} )/u.test(text.slice(i + 1)));
    if (breaks) {
      found.push(piece.trim());
      piece = '';
    } else piece += text[i];
  }
  return [...found, piece.trim()].filter(Boolean);
}

/** Tags and texts alone: styles in attributes break the page's policy, and classes mean nothing on it. */
function branch(element: Element): Branch {
  const kept = [...element.attributes]
    .filter(({ name }) => name !== 'style' && name !== 'class')
    .map(({ name, value }) => [name, value] as const);
  return [
    element.localName,
    Object.fromEntries(kept),
    ...(element.children.length ? [...element.children].map(branch) : [element.textContent ?? '']),
  ];
}

function mathOf(tex: string, before: string): Branch {
  // An operator at the start of a piece is still one between two things, unless what went before asks for a sign.
  const between = before !== '' && !/([,;:([]|\bor)$/.test(before);
  const whole =
    between && /^(?:[-+=<>|]|\\(?:cdot|le|ge|leftarrow|pm|times)\b)/.test(tex) ? `{} ${tex}` : tex;
  const { document } = parseHTML(
    `<body>${temml.renderToString(whole, { throwOnError: true })}</body>`,
  );
  return branch(document.querySelector('math') as unknown as Element);
}

export const formulaOf = (plain: string): Written => ({
  spoken: written(plain).spoken,
  parts: pieces(plain).map((piece, i, all) => mathOf(written(piece).tex, all[i - 1] ?? '')),
});

const mark = '?written';
/** import formulas from './formula.ts?written': of every encoding by its id. `posenc` is the package for Node. */
export const formulas = (posenc: string): Plugin => ({
  name: 'formulas',
  async load(id) {
    if (!id.endsWith(mark)) return undefined;
    const { encodings } = (await import(pathToFileURL(posenc).href)) as {
      encodings: readonly { id: string; formula: string }[];
    };
    const all = Object.fromEntries(encodings.map(({ id, formula }) => [id, formulaOf(formula)]));
    return `export default JSON.parse(${JSON.stringify(JSON.stringify(all))})`;
  },
});
