/**
 * What is looked for on a page, as expressions that run in the browser.
 *
 * They are text, since what runs there knows another world than this program. Owns no word of any page.
 */

/** Everything that the keyboard has to reach, in the order in which it is read. */
const CONTROLS = `[...document.querySelectorAll('a[href], button, input:not([type=hidden])')]`;

/** What is missing for people who listen to the page, or have it translated; nothing when all is there. */
export const FAULTS = `(() => {
  const faults = [];
  if (document.documentElement.lang !== 'en') faults.push('no language');
  if (!/^.+ – Graph Relay$/.test(document.title)) faults.push('the title ' + document.title);
  const levels = [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((each) => Number(each.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) faults.push('not one first heading');
  if (levels.some((level, index) => index > 0 && level > levels[index - 1] + 1)) faults.push('a heading is left out');
  if (document.querySelectorAll('main').length !== 1) faults.push('no main part');
  const names = new Set();
  for (const control of ${CONTROLS}) {
    const labels = [...(control.labels ?? [])].map((each) => each.innerText).join(' ');
    const name = (control.getAttribute('aria-label') ?? (control.tagName === 'INPUT' ? labels : control.innerText)).trim();
    if (name === '') faults.push('without a name: ' + control.outerHTML);
    if (control.tagName === 'BUTTON' && names.has(name)) faults.push('two buttons are named ' + name);
    if (control.tagName === 'BUTTON') names.add(name);
    const { width, height } = control.getBoundingClientRect();
    const target = control.type === 'checkbox' ? control.closest('label').getBoundingClientRect() : { width, height };
    // WCAG 2.2, target size.
    if (control.tagName !== 'A' && (target.width < 24 || target.height < 24)) faults.push('too small: ' + control.outerHTML);
  }
  for (const group of document.querySelectorAll('fieldset')) {
    if (group.querySelector('legend') === null) faults.push('a group without a name');
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) faults.push('an id is there twice');
  return faults;
})()`;

/** How wide the content is, and how wide it may be. */
export const WIDTHS = '[document.documentElement.scrollWidth, document.documentElement.clientWidth]';

export const CONTROL_COUNT = `${CONTROLS}.length`;

/** Which control has the focus and whether that can be seen; -1 when none has it. */
export const FOCUS = `(() => {
  const index = ${CONTROLS}.indexOf(document.activeElement);
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return { index, isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' };
})()`;
