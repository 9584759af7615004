// Merges profile rows by region name, because a trace may have several regions of a name.
import type { Profile, ProfileRow } from "../api";
import { count } from "../dom";

/** NamedRow holds the fields of a profile row that can be added up by name. */
export type NamedRow = Pick<ProfileRow, "kind" | "region" | "name" | "count" | "exclusive">;

/**
 * mergeByName adds up the rows of regions with the same name; calls and claims stay separate. The
 * region number is that of the first row, whose colour is shown.
 */
export function mergeByName(rows: readonly NamedRow[]): NamedRow[] {
  const out = new Map<string, NamedRow>();
  for (const r of rows) {
    const key = `${r.kind === "claim"} ${r.name}`,
      o = out.get(key);
    if (!o) {
      out.set(key, { ...r });
      continue;
    }
    o.count += r.count;
    o.exclusive = String(BigInt(o.exclusive) + BigInt(r.exclusive));
  }
  return [...out.values()];
}

/**
 * leftOut returns a text with the number of rows that a profile leaves out, or "" if it is complete.
 * merged is set if its rows were added up by name.
 */
export function leftOut(p: Profile, merged: boolean): string {
  const n = p.left.rows;
  if (n === 0) return "";
  const what = `${count(n)} ${n === 1 ? "row" : "rows"} with less exclusive time`;
  return merged ? `${what} ${n === 1 ? "is" : "are"} not in these sums` : `${what} ${n === 1 ? "is" : "are"} left out`;
}
