// The words of the static page, read where they stand: they are not written twice.

export function adopt(article, data) {
  data.init = [...article.querySelectorAll(".initial dt")].map((name) => [
    name.textContent,
    name.nextElementSibling.textContent,
  ]);
  const rows = article.querySelectorAll(".steps tr[data-step]");
  data.steps.forEach((step, index) => {
    const [, what, changed, place] = rows[index + 1].querySelectorAll(":scope > td");
    step.full = what.querySelector("code").textContent;
    step.text = what.querySelector("p").textContent;
    step.notes = [...what.querySelectorAll(".note")].map((note) => [
      note.className.replace("note ", ""),
      note.textContent,
    ]);
    step.changes = [...changed.querySelectorAll("li")].map((line) =>
      [...line.children].map((part) => part.textContent),
    );
    step.loc = place.textContent;
  });
  return data;
}
