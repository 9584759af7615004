// Profiles merged by region name, as a trace may have several regions of a name.
import type { Profile, ProfileRow } from "../api";
import { count } from "../dom";

/** Named has the fields of a profile's row that can be added up by name. */
export type Named = Pick<ProfileRow, "kind" | "region" | "name" | "count" | "exclusive">;

/**
 * mergeByName adds up the rows of regions with the same name, calls and claims separately; the
 * first row gives the colour.
 */
export function mergeByName(rows: readonly Named[]): Named[] {
  const out = new Map<string, Named>();
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
 * leftOut describes what a profile omits, or "" if it is complete; merged is set if rows were added
 * up by name.
 */
export function leftOut(p: Profile, merged: boolean): string {
  const n = p.left.rows;
  if (n === 0) return "";
  const what = `${count(n)} ${n === 1 ? "row" : "rows"} with less exclusive time`;
  return merged ? `${what} ${n === 1 ? "is" : "are"} not in these sums` : `${what} ${n === 1 ? "is" : "are"} left out`;
}
