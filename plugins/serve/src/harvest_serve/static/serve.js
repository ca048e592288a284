// What pages do better with a little script; all of it works without.
"use strict";

// a bar offers the new state once a commit has put another one in force
const news = document.getElementById("news");
if (news) {
  const shown = news.dataset.commit;
  const look = async () => {
    if (document.hidden || !news.hidden) return;
    try {
      const answer = await fetch(news.dataset.ask, { headers: { Accept: "application/json" }, cache: "no-store" });
      if (!answer.ok) return;
      const now = await answer.json();
      if (now.commit && now.commit !== shown) news.hidden = false;
    } catch {
      // the server has ended, or the network has: the page stays as it is
    }
  };
  setInterval(look, Number(news.dataset.every));
  document.addEventListener("visibilitychange", look);
}

// operators that suit the type of the chosen column
for (const column of document.querySelectorAll("select[data-operators]")) {
  const operator = document.getElementById(column.dataset.operators);
  const groups = [...operator.querySelectorAll("optgroup")].map((group) => [group, [...group.children]]);
  const suit = () => {
    const wanted = column.selectedOptions[0]?.dataset.kind;
    if (!wanted) return;
    const before = operator.value;
    operator.replaceChildren();
    for (const [group, options] of groups)
      if (group.dataset.kind === wanted) operator.append(...options);
    if ([...operator.options].some((each) => each.value === before)) operator.value = before;
    else operator.selectedIndex = 0;
  };
  column.addEventListener("change", suit);
  suit();
}

// a form that is sent says nothing of the fields that say nothing
for (const form of document.querySelectorAll("form[method=get]"))
  form.addEventListener("formdata", (event) => {
    for (const name of [...new Set(event.formData.keys())]) {
      const values = event.formData.getAll(name);
      if (values.every((each) => each === "")) event.formData.delete(name);
    }
  });

// the columns of a view are asked for when it is unfolded
for (const view of document.querySelectorAll("details[data-columns]"))
  view.addEventListener("toggle", async () => {
    const place = view.querySelector("summary + p");
    const answer = await fetch(view.dataset.columns);
    const found = await answer.json();
    if (!answer.ok) {
      place.textContent = [found.message, found.remedy].filter(Boolean).join("; ");
      return;
    }
    const list = document.createElement("ul");
    for (const column of found.columns) {
      const [item, name, type] = ["li", "span", "span"].map((each) => document.createElement(each));
      [name.className, type.className] = ["mono", "soft"];
      name.textContent = column.name;
      type.textContent = [column.type, column.unit].filter(Boolean).join(", ");
      item.append(name, " ", type);
      list.append(item);
    }
    place.replaceWith(list);
  }, { once: true });

// a query is sent by Ctrl and Enter
for (const area of document.querySelectorAll("textarea"))
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) area.form.requestSubmit();
  });

// a report is as high as it is: nothing scrolls within what scrolls
for (const frame of document.querySelectorAll("iframe")) {
  const fit = () => {
    const page = frame.contentDocument?.documentElement;
    if (page) frame.style.height = `${page.querySelector("body").scrollHeight + 4}px`;
  };
  frame.addEventListener("load", () => {
    fit();
    frame.contentDocument?.addEventListener("toggle", fit, true);
  });
  addEventListener("resize", fit);
  if (frame.contentDocument?.readyState === "complete") fit();
}
