// The button that has a component of the page save what it has drawn.

/**
 * Shows the button below an element.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {{label: string, told: object}} data `told` is the `key` of the component, the `kind`
 *   of file, and the file's name where the component has none of its own.
 */
function showSave(parent, { label, told: detail }) {
  const onclick = () => window.dispatchEvent(new CustomEvent(SAVE, { detail }))
  const button = element('button', { type: 'button', textContent: label, onclick })
  parent.querySelector('.save-button').replaceChildren(button)
}
