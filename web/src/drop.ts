// Opens files that the user drops on the page, after the user has confirmed that.
import { errorText } from "./api";
import type { App } from "./app";
import { button, bytesText, count, el } from "./dom";

/**
 * DroppedFile is a file that was dropped, alone or in a folder. For a file in a folder, path begins
 * with the name of that folder.
 */
interface DroppedFile {
  path: string;
  file: File;
}

/** filesIn lists the files in a dropped file or folder. path is the path of the folder around it. */
async function filesIn(e: FileSystemEntry, path: string): Promise<DroppedFile[]> {
  if (e.isFile) {
    const file = await new Promise<File>((done, fail) => (e as FileSystemFileEntry).file(done, fail));
    return [{ path, file }];
  }
  const reader = (e as FileSystemDirectoryEntry).createReader(),
    out: DroppedFile[] = [];
  // for a large folder, the browser returns the entries in several parts
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail));
    if (some.length === 0) return out;
    for (const x of some) out.push(...(await filesIn(x, `${path}/${x.name}`)));
  }
}

/**
 * takeDrops makes the page accept dropped files. It asks the user, and then uploads the files to
 * the server.
 */
export function takeDrops(app: App): void {
  addEventListener("dragover", (e) => {
    if (e.dataTransfer?.types.includes("Files")) e.preventDefault();
  });
  addEventListener("drop", (e) => {
    if (!e.dataTransfer?.types.includes("Files")) return;
    e.preventDefault();
    // the browser allows access to dropped items only during the event
    const entries = [...e.dataTransfer.items].map((i) => i.webkitGetAsEntry()).filter((x) => x !== null),
      files = [...e.dataTransfer.files].map((file) => ({ path: file.name, file }));
    (entries.length > 0
      ? Promise.all(entries.map((x) => filesIn(x, x.name))).then((l) => l.flat())
      : Promise.resolve(files)
    )
      .then((l) => ask(app, l))
      .catch((x: unknown) => app.announce(errorText(x)));
  });
}

function ask(app: App, files: readonly DroppedFile[]): void {
  if (files.length === 0) return;
  const shown = app.store.state.traces,
    state = el("p", { class: "faint", role: "status" }),
    d = el("dialog", { aria: { label: "Open files" } });
  const open = (beside: boolean): void => {
    for (const b of d.querySelectorAll("button")) b.disabled = true;
    state.textContent = "sending …";
    const form = new FormData();
    for (const f of files) form.append(f.path, f.file);
    app.client
      .post<{ traces: string[] }>("traces", form)
      .then(({ traces }) => {
        location.hash = "t=" + [...(beside ? shown : []), ...traces].map(encodeURIComponent).join(",");
        location.reload();
      })
      .catch((x: unknown) => {
        state.textContent = errorText(x);
        state.className = "error";
        for (const b of d.querySelectorAll("button")) b.disabled = false;
      });
  };
  d.append(
    el("h1", {}, "Open files"),
    el(
      "p",
      {},
      `${count(files.length)} ${files.length === 1 ? "file" : "files"}, ` +
        `${bytesText(files.reduce((n, f) => n + f.file.size, 0))}. To be shown they are copied to a temporary folder ` +
        `of the server, ${location.host}, until it ends.`,
    ),
    state,
    el(
      "p",
      {},
      button("Open", "Copy the files to the server and show the traces among them", () => open(false)),
      " ",
      shown.length > 0 ? button("Open together", "Show them together with the current traces", () => open(true)) : null,
      " ",
      button("Cancel", "Leave the files where they are", () => d.close()),
    ),
  );
  d.addEventListener("close", () => d.remove());
  document.body.append(d);
  d.showModal();
}
