// The overlay that says which keys there are and how the picture is to be read.

import { keyName, KEYS } from "./keys.js";
import { h, update } from "./render.js";

function Help({ close, several }) {
  const keys = KEYS.filter(([[key]]) => several || !"[]".includes(key));
  return (
    <form method="dialog">
      <h2 id="help-title">Keys</h2>
      <dl>
        {keys.map(([names, what]) => (
          <div>
            <dt>{names.map((name) => [<kbd>{keyName(name)}</kbd>, " "])}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        A click on a row of the picture or on a step's number moves the cursor, one on a page shows the page's
        history. The address of the page holds the cursor: copy it to show somebody this very state.
      </p>
      <button type="button" onclick={close}>
        close
      </button>
    </form>
  );
}

// Opens the overlay; the browser keeps the focus in it and gives it back.
export function openHelp(several) {
  let dialog = document.querySelector("dialog.help");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "help";
    dialog.setAttribute("aria-labelledby", "help-title");
    document.body.append(dialog);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    update(dialog, <Help several={several} close={() => dialog.close()} />);
  }
  if (!dialog.open) dialog.showModal();
}
