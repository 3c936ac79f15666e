// SPDX-License-Identifier: Apache-2.0
// A question ahead of what a lab shows: choose what you expect, then the lab does it and measures.
import { box, h, setHidden, setText } from '../dom.ts';
import { remember, remembered } from '../remember.ts';

export interface Answer {
  /** Index of the choice that is right. */
  readonly right: number;
  /** What was measured, in a sentence. */
  readonly text: string;
}
export interface Question {
  /** Of the state as it is; undefined where it makes no sense to ask. */
  ask(): string | undefined;
  readonly choices: readonly string[];
  /** Does in the lab what was asked about, and measures it; a measurement may take its time, or fail. */
  answer(): Answer | Promise<Answer>;
}

const key = 'posenc-questions';
let wanted = remembered(key) !== 'off';
const all: Guess[] = [];

function want(on: boolean): void {
  wanted = on;
  remember(key, on ? undefined : 'off');
  for (const guess of all) guess.show();
}

/** Switches all questions of the page. */
export function questionSwitch(): HTMLButtonElement {
  const button = h('button', { type: 'button', id: 'questions', click: () => turn(!wanted) });
  const turn = (on: boolean): void => {
    want(on);
    label();
  };
  const label = (): void => setText(button, wanted ? 'Ask no questions' : 'Ask me questions');
  label();
  return button;
}

export class Guess {
  readonly root: HTMLFieldSetElement;
  readonly #text = h('p', { class: 'guess-text' });
  readonly #answer = h('p', { class: 'guess-answer', role: 'status' });
  readonly #buttons: HTMLButtonElement[];
  readonly #away = h(
    'button',
    { type: 'button', class: 'quiet', click: () => this.#skip() },
    'Skip',
  );
  #skipped = false;
  #answered = false;

  constructor(private readonly question: Question) {
    this.#buttons = question.choices.map((choice, i) =>
      h('button', { type: 'button', click: () => this.#choose(i) }, choice),
    );
    this.root = h(
      'fieldset',
      { class: 'guess' },
      h('legend', {}, 'What do you expect?'),
      this.#text,
      box('button-row', ...this.#buttons, this.#away),
      this.#answer,
    );
    setHidden(this.root, true);
    all.push(this);
  }

  /** Call it where the state that the question is about has changed. */
  show(): void {
    const text = this.#answered ? undefined : this.question.ask();
    if (text !== undefined) setText(this.#text, text);
    setHidden(this.root, !wanted || this.#skipped || (!this.#answered && text === undefined));
  }
  /** Asks anew, about another state. */
  reset(): void {
    this.#answered = false;
    setText(this.#away, 'Skip');
    setText(this.#answer, '');
    for (const button of this.#buttons) {
      button.removeAttribute('aria-pressed');
      button.classList.remove('right');
    }
    this.show();
  }
  #choose(chosen: number): void {
    try {
      const answer = this.question.answer();
      if (answer instanceof Promise) void this.#wait(chosen, answer);
      else this.#tell(chosen, answer);
    } catch (error) {
      this.#fail(error);
    }
  }
  async #wait(chosen: number, measured: Promise<Answer>): Promise<void> {
    setText(this.#answer, 'Measuring…');
    for (const button of this.#buttons) button.disabled = true;
    try {
      this.#tell(chosen, await measured);
    } catch (error) {
      this.#fail(error);
    } finally {
      for (const button of this.#buttons) button.disabled = false;
    }
  }
  #fail(error: unknown): void {
    setText(this.#answer, error instanceof Error ? error.message : String(error));
  }
  #tell(chosen: number, answer: Answer): void {
    this.#answered = true;
    setText(this.#away, 'Close');
    this.#buttons.forEach((button, i) => {
      button.setAttribute('aria-pressed', String(i === chosen));
      button.classList.toggle('right', i === answer.right);
    });
    const verdict =
      chosen === answer.right
        ? 'As you expected.'
        : `Not so: ${this.question.choices[answer.right]?.toLowerCase()}.`;
    setText(this.#answer, `${verdict} ${answer.text}`);
    // What was done for the answer may have made the question senseless; its answer is not.
    this.show();
  }
  #skip(): void {
    this.#skipped = true;
    this.show();
  }
}
