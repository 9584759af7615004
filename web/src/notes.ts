// Notes. They are stored by the server, next to the index. If the server is read-only, they are
// stored by the browser.
import { type Client, type Note, ApiError } from "./api";

/** Notes holds the notes of all lanes. */
export class Notes {
  private lists: Note[][] = [];
  private ids: string[] = [];
  constructor(
    private client: Client,
    private readOnly: boolean,
    private changed: () => void,
  ) {}

  /** inLane returns the notes of a lane in the order of time. */
  inLane(lane: number): readonly Note[] {
    return this.lists[lane] ?? [];
  }

  /** load fetches the notes of all lanes. */
  async load(ids: string[]): Promise<void> {
    this.ids = ids;
    this.lists = await Promise.all(
      ids.map(async (id) => {
        if (this.readOnly) {
          const own = this.stored(id);
          if (own) return own;
        }
        try {
          return valid(await this.client.json<unknown>(`traces/${encodeURIComponent(id)}/notes`));
        } catch {
          return this.stored(id) ?? [];
        }
      }),
    );
    this.changed();
  }

  private stored(id: string): Note[] | null {
    try {
      const t = localStorage.getItem("weft-notes-" + id);
      return t === null ? null : valid(JSON.parse(t));
    } catch {
      return null;
    }
  }

  /** fresh is the id of a new note. The panel puts the cursor into its field. */
  fresh = "";

  /** set replaces the notes of a lane and stores them. It returns where they are stored. */
  async set(lane: number, notes: Note[]): Promise<"server" | "browser"> {
    this.lists[lane] = [...notes].sort((a, b) => (BigInt(a.from) < BigInt(b.from) ? -1 : 1));
    this.changed();
    if (!this.readOnly) {
      try {
        await this.client.put(`traces/${encodeURIComponent(this.ids[lane])}/notes`, { notes: this.lists[lane] });
        return "server";
      } catch (e) {
        if (!(e instanceof ApiError && e.status === 403)) throw e;
      }
    }
    localStorage.setItem("weft-notes-" + this.ids[lane], JSON.stringify({ notes: this.lists[lane] }));
    return "browser";
  }
}

/**
 * valid returns the valid notes of a JSON document {"notes": [...]}. It throws an error if the
 * document has no such list.
 */
export function valid(v: unknown): Note[] {
  const list = typeof v === "object" && v !== null && "notes" in v ? v.notes : v;
  if (list === null) return [];
  if (!Array.isArray(list)) throw new Error('expected {"notes": [...]}');
  const out: Note[] = [];
  for (const x of list as unknown[]) {
    if (typeof x !== "object" || x === null) continue;
    const n = x as Record<string, unknown>;
    const text = (k: string): string =>
      typeof n[k] === "string" ? n[k] : typeof n[k] === "number" ? String(n[k]) : "";
    if (!/^-?\d{1,40}$/.test(text("from")) || !/^-?\d{1,40}$/.test(text("to"))) continue;
    out.push({
      id: text("id") || newID(),
      from: text("from"),
      to: text("to"),
      track: typeof n.track === "number" ? n.track : -1,
      text: text("text"),
      created: text("created"),
    });
  }
  return out;
}

/** newID returns an id for a new note. */
export function newID(): string {
  return Math.floor(Math.random() * 2 ** 48).toString(36);
}
