// SPDX-License-Identifier: Apache-2.0
// Draws the first lab in its default state while the page is built, with the page's own code and the package itself, so that a
// visitor sees an answer before any script has come, and without scripts too. The live lab takes its place.
import { parseHTML } from 'linkedom';
import { pageServer } from '../tools/page-modules.mjs';

/** Of a figure, in pixels of its own; whatever room there is, it is scaled to. */
export interface Size {
  readonly width: number;
  readonly height: number;
}
/** Of the square figure of the first lab. A desktop has about this much. */
const stage = { width: 390, height: 432 };
/** More colours in a row than this are a gradient, to which these many steps do no harm. */
const mostColumns = 64;
const steps = 32;

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
}
export interface Drawn {
  readonly html: string;
  readonly pictures: readonly Picture[];
}

const hex = (word: number): string =>
  `#${[word & 255, (word >> 8) & 255, (word >> 16) & 255].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

const last = /M([\d.]+) \d+h([\d.]+)v1h-[\d.]+z$/;
/** A canvas as an image of squares, in the colours of both themes. */
function squares(light: Picture, dark: Picture, most: number): string {
  const { width, height } = light;
  const thin = width > most ? width / steps : 1;
  const paths = new Map<string, string>();
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += thin) {
      const at = y * width + Math.floor(x + thin / 2);
      const [day, night] = [light, dark].map(({ pixels }) => hex(pixels[at] as number));
      const colour = `light-dark(${day},${night})`;
      const before = paths.get(colour) ?? '';
      const [, start, across] = last.exec(before) ?? [];
      // What follows a square of the same colour makes it longer.
      const along =
        Number(start) + Number(across) === x &&
        before.endsWith(`M${start} ${y}h${across}v1h-${across}z`);
      const from = along ? Number(start) : x;
      const wide = x + thin - from;
      const kept = along ? before.slice(0, before.lastIndexOf('M')) : before;
      paths.set(colour, `${kept}M${from} ${y}h${wide}v1h-${wide}z`);
    }
  return [...paths].map(([colour, path]) => `<path fill="${colour}" d="${path}"/>`).join('');
}
/** A browser that knows no light-dark() gets no squares at all, rather than black ones. */
const flat = ({ width, height }: Picture): string =>
  `fill="none" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" shape-rendering="crispEdges"`;

// biome-ignore lint/suspicious/noExplicitAny: the document is another library's, and the lab's module comes at run time
export type Loose = any;

/** Runs `build` in a document of its own, canvases included, and gives what `take` finds there, with the pictures in it. */
export async function inDocument(
  page: string,
  size: Size,
  build: () => Promise<unknown>,
  take: (document: Loose) => Loose,
): Promise<Drawn> {
  const { document } = parseHTML(page) as Loose;
  const painted = new Map<Loose, Picture>();
  const make = document.createElement.bind(document);
  document.createElement = (name: string): Loose => {
    const element = make(name);
    Object.defineProperty(element, 'clientWidth', { value: size.width });
    Object.defineProperty(element, 'clientHeight', { value: size.height });
    if (name === 'select')
      Object.defineProperty(element, 'value', {
        set: (value: string) => {
          for (const option of element.querySelectorAll('option'))
            option.toggleAttribute('selected', option.getAttribute('value') === value);
        },
      });
    if (name === 'input')
      Object.defineProperty(element, 'checked', {
        set: (value: boolean) => element.toggleAttribute('checked', value),
      });
    if (name === 'canvas')
      element.getContext = () => ({
        createImageData: (width: number, height: number) => ({
          width,
          height,
          data: new Uint8ClampedArray(4 * width * height),
        }),
        putImageData: (image: { width: number; height: number; data: Uint8ClampedArray }) =>
          painted.set(element, { ...image, pixels: new Uint32Array(image.data.buffer) }),
      });
    return element;
  };
  const frames: (() => void)[] = [];
  const globals: Record<string, unknown> = {
    document,
    requestAnimationFrame: (task: () => void) => frames.push(task),
    // What does not fit into a frame of a browser is drawn here all the same.
    scheduler: { postTask: (task: () => void) => frames.push(task) },
    addEventListener: () => undefined,
    ResizeObserver: class {
      observe(): void {}
    },
    IntersectionObserver: class {
      observe(): void {}
    },
  };
  Object.assign(globalThis, globals);
  try {
    await build();
    for (let task = frames.shift(); task; task = frames.shift()) task();
  } finally {
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
  }

  const body = take(document);
  const pictures: Picture[] = [];
  for (const canvas of body.querySelectorAll('canvas')) {
    const picture = painted.get(canvas);
    if (!picture) continue;
    const place = `__picture${pictures.push(picture) - 1}__`;
    const pixels = (name: string): number => Number.parseFloat(canvas.style[name]);
    if (canvas.classList.contains('cells')) {
      const overlay = canvas.parentNode.querySelector('.overlay');
      overlay.setAttribute('viewBox', `0 0 ${size.width} ${size.height}`);
      const cells = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      const [x, y, width, height] = ['left', 'top', 'width', 'height'].map(pixels);
      for (const [name, value] of Object.entries({ x, y, width, height }))
        cells.setAttribute(name, value);
      cells.append(place);
      overlay.prepend(cells);
      canvas.remove();
    } else {
      const image = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      for (const { name, value } of canvas.attributes)
        if (name !== 'width' && name !== 'height') image.setAttribute(name, value);
      image.append(place);
      canvas.replaceWith(image);
    }
  }
  // The page's policy forbids styles in attributes; a width is an attribute of images as well.
  for (const bar of body.querySelectorAll('[style]')) {
    const image = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    image.setAttribute('class', bar.getAttribute('class'));
    image.setAttribute('aria-hidden', 'true');
    image.setAttribute('width', bar.style.width);
    bar.replaceWith(image);
  }
  return { html: body.innerHTML, pictures };
}

/** Both drawings as one: each picture in the colours of both themes. */
export function inBothThemes(light: Drawn, dark: Drawn, most = mostColumns): string {
  const html = light.pictures.reduce(
    (text, picture, i) =>
      text.replace(
        new RegExp(`<svg([^>]*)>__picture${i}__`),
        (_, attributes: string) =>
          `<svg${attributes} ${flat(picture)}>${squares(picture, dark.pictures[i] as Picture, most)}`,
      ),
    light.html,
  );
  if (/ style=|__picture/.test(html))
    throw new Error('what is drawn ahead breaks the page’s policy');
  return html;
}

/** Loads modules of the page as Node sees them, and hands them over with a switch for the theme. */
export async function withPage<T>(
  root: string,
  posenc: string,
  names: readonly string[],
  use: (modules: Loose[], darken: (dark: boolean) => void) => Promise<T>,
): Promise<T> {
  const server = await pageServer(root, posenc);
  // The theme is looked up as the module of themes first runs, and may change from then on.
  const theme = { matches: false, addEventListener: () => undefined };
  const globals = { document: { documentElement: { dataset: {} } }, matchMedia: () => theme };
  Object.assign(globalThis, globals);
  try {
    const modules = await Promise.all(
      names.map((name) => server.ssrLoadModule(`/src/${name}.ts`) as Promise<Loose>),
    );
    return await use(modules, (dark) => {
      theme.matches = dark;
    });
  } finally {
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name);
    await server.close();
  }
}

/** What stands in the body of the first lab before any script runs. `root` is the folder of the page, `posenc` the package for Node. */
export const drawnAhead = (root: string, posenc: string, page: string): Promise<string> =>
  withPage(root, posenc, ['labs/order', 'model/state', 'engine'], async (modules, darken) => {
    const [{ OrderLab }, { Store, initialState }, { start, manifest }] = modules;
    const engine = await start();
    const draw = (dark: boolean): Promise<Drawn> => {
      darken(dark);
      return inDocument(
        page,
        stage,
        () => new OrderLab(engine, new Store(initialState(manifest))).start(),
        (document) => document.querySelector('#order-body'),
      );
    };
    const light = await draw(false);
    return inBothThemes(light, await draw(true));
  });
